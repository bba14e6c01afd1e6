// A 64-bit hash of large arrays that are expected to be equal, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ttt {

// Arrays of one length that differ within one aligned 8-byte word never hash alike. Every step is a bijection of the
// state and of the word, and what follows a difference keeps it. Others are alike with a probability of about 2^-64.
// Not against an adversary.
std::uint64_t hash64(std::span<const std::byte> bytes);

}  // namespace ttt
