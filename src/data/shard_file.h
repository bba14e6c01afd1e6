// One shard, open for reading from any number of threads.
//
// HDF5 opens the file, and its metadata are checked. Then records are read with pread at the dataset's own position in
// the file, so that no thread meets the library's lock (measured: 2.5 times locked H5Dread on two threads). Where the
// dataset has no such position, or record 0 reads differently there, records are read through the library instead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/hdf5.h"
#include "data/shard_format.h"

namespace ttt::data {

class ShardFile {
 public:
  enum class Path { kPread, kHdf5 };

  // Throws UsageError (no such file) or DataError: not a shard, another version, cut short, damaged index.
  explicit ShardFile(const std::string& path, Path preferred = Path::kPread);
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;

  const ShardIndex& index() const { return index_; }
  const std::string& path() const { return path_; }
  Path read_path() const { return read_path_; }  // the one in use
  std::int64_t int_attribute(const std::string& name) const { return file_.int_attribute(name); }
  std::string string_attribute(const std::string& name) const { return file_.string_attribute(name); }

  // The JPEG of record i, its checksum verified. Throws DataError that names file, record and image id.
  void read(std::int64_t i, std::vector<std::uint8_t>& out) const;
  // Tells the kernel that record i will be read soon; returns at once.
  void will_need(std::int64_t i) const;
  // "train-00000-of-00001.h5, record 3, image 139": what messages about a record say.
  std::string describe(std::int64_t i) const;

 private:
  void load_index();
  void choose_path(Path preferred);
  void pread_bytes(std::uint64_t offset, std::uint64_t count, std::uint8_t* out, std::int64_t record) const;

  std::string path_;
  h5::File file_;
  ShardIndex index_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t bytes_at_ = 0;  // of /bytes in the file
  int descriptor_ = -1;
  Path read_path_ = Path::kHdf5;
};

}  // namespace ttt::data
