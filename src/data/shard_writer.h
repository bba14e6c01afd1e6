// Writes one shard so that it exists whole under its name, or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/hdf5.h"
#include "data/shard_format.h"

namespace ttt::data {

// Space is reserved before anything is written, so that a full disk is met at the start and by a plain system call.
// Records go straight to their place in the file; HDF5 writes the index at the end. The file has a temporary name
// beside its final one until it is complete and on the disk.
class ShardWriter {
 public:
  // `total_bytes`: of /bytes. Throws Error where there is no room (and leaves nothing).
  ShardWriter(const std::string& path, std::uint64_t total_bytes);
  ~ShardWriter();  // removes an unfinished file
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  void put(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  // Writes index and attributes (format, version and checksum are added), closes, syncs and renames.
  void finish(const ShardIndex& index, const std::map<std::string, std::string>& texts,
      const std::map<std::string, std::int64_t>& numbers);

 private:
  [[noreturn]] void fail(const std::string& what, int error);
  void reserve(std::uint64_t bytes);

  std::string path_, temporary_;
  std::optional<h5::File> file_;
  int descriptor_ = -1;
  std::uint64_t bytes_at_ = 0, total_bytes_;
};

// Makes a finished file or rename last: fsync of the file or folder. Throws Error.
void sync_to_disk(const std::string& path);

}  // namespace ttt::data
