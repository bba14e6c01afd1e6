// HDF5 files that carry a checksum of all their bytes, checked before HDF5 parses any of them.
//
// The seal is HDF5's user block: "<magic> <version>\n<digest name> <digest>\nbytes <size>\n" and zeros, 512 bytes. The
// digest covers the whole file, its own digits taken as zeros. HDF5's own checksums leave gaps, and HDF5 1.10 may crash
// on a changed byte.
#pragma once

#include <cstdint>
#include <string>

namespace ttt::data {

inline constexpr std::uint64_t kSealBytes = 512;

enum class Digest { kCrc32c, kSha256 };

struct SealKind {
  std::string magic;   // "ttt-checkpoint"
  std::string name;    // of the file in messages: "The checkpoint"
  std::string remedy;  // for a damaged file: "Use the one before it."
  Digest digest = Digest::kCrc32c;
};

// Writes the seal of a closed file that has a user block of kSealBytes. Throws Error where it cannot be written.
void seal(const std::string& path, const SealKind& kind, int version);

// Checks every byte and returns the seal's version. Throws UsageError (not a regular file, may not be read) or
// DataError (no seal of this kind, damaged, cut short).
int check_seal(const std::string& path, const SealKind& kind);

}  // namespace ttt::data
