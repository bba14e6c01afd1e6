// CRC-32C (Castagnoli): the checksum of shards, and of the records of an event file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttt {

// `crc` chains pieces: crc32c(b, n, crc32c(a, m)) is the checksum of a followed by b. Of "123456789": 0xE3069283.
// Uses SSE4.2 where the CPU has it (about 6 GB/s), else a table.
std::uint32_t crc32c(const void* bytes, std::size_t count, std::uint32_t crc = 0);

// The table alone: what a CPU without the instruction runs.
std::uint32_t crc32c_portable(const void* bytes, std::size_t count, std::uint32_t crc = 0);

}  // namespace ttt
