// The HDF5 C API behind values that close themselves. The only file that includes hdf5.h is hdf5.cc.
//
// Files are written with version bounds V18: superblock 2, checksummed metadata. Every HDF5 since 1.8 and h5py read
// them. Datasets are contiguous, allocated when created, never compressed, little-endian, without times of creation.
// Calls are serialised by one lock: HDF5 builds without thread safety may not be called from two threads even for two
// different files, and thread-safe builds serialise them anyway.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ttt::data::h5 {

// Types that files hold.
template <class T>
concept Element = std::same_as<T, std::uint8_t> || std::same_as<T, std::uint16_t> || std::same_as<T, std::uint32_t> ||
    std::same_as<T, std::uint64_t> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, float> || std::same_as<T, double>;

using Dims = std::vector<std::uint64_t>;

class File {
 public:
  // Overwrites. The first `user_block` bytes (0, or a power of two from 512 on) are left to the caller, who writes them
  // after close(): HDF5 and its tools skip them. Throws Error where the file cannot be made.
  static File create(const std::string& path, std::uint64_t user_block = 0);
  // Read-only, without locks. Throws UsageError (no such file) or DataError (not HDF5, cut short).
  static File open(const std::string& path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  // Flushes and closes; throws Error where that fails (a full disk). The destructor closes without telling.
  void close();
  void flush();
  const std::string& path() const { return path_; }

  // --- datasets, by absolute name; groups in between are made. Throw Error (writing) or DataError (reading). ---
  bool has(const std::string& name) const;
  // Shape of a dataset.
  Dims dims(const std::string& name) const;
  // Names of all datasets below the root, in HDF5's own order of names.
  std::vector<std::string> datasets() const;
  template <Element T> void write(const std::string& name, std::span<const T> values, const Dims& dims);
  // Converts numbers where the stored type differs and loses nothing of kind (integer stays integer).
  template <Element T> std::vector<T> read(const std::string& name) const;
  // Space for `count` bytes that the caller fills; returns nothing where the file has no single place for them.
  void create_bytes(const std::string& name, std::uint64_t count);
  // Absolute position in the file of a contiguous, unfiltered dataset of bytes; nothing where there is none.
  std::optional<std::uint64_t> byte_offset(const std::string& name) const;
  // bytes[offset, offset + count) of a dataset of bytes, through the library.
  void read_bytes(const std::string& name, std::uint64_t offset, std::uint64_t count, std::uint8_t* out) const;
  // A list of strings, stored with one fixed length (UTF-8, zero-padded).
  void write_strings(const std::string& name, const std::vector<std::string>& values);
  std::vector<std::string> read_strings(const std::string& name) const;

  // --- attributes of the root, or of the dataset `of`: scalars of int64 or of a fixed-length string ---
  // has_attribute throws DataError too, where the file is damaged.
  bool has_attribute(const std::string& name, const std::string& of = "/") const;
  void set_attribute(const std::string& name, std::int64_t value, const std::string& of = "/");
  void set_attribute(const std::string& name, const std::string& value, const std::string& of = "/");
  std::int64_t int_attribute(const std::string& name, const std::string& of = "/") const;
  std::string string_attribute(const std::string& name, const std::string& of = "/") const;

 private:
  File(std::int64_t id, std::string path) : id_(id), path_(std::move(path)) {}
  std::int64_t id_ = -1;
  std::string path_;
};

std::string library_version();  // "1.10.8" of the library in this process

}  // namespace ttt::data::h5
