#include "data/shard_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/descriptor.h"
#include "core/error.h"

namespace ttt::data {
namespace fs = std::filesystem;
namespace {

// Room for HDF5's own metadata and the index of one shard, beside /bytes.
constexpr std::uint64_t kMetadataReserve = 1 << 20;

}  // namespace

void sync_to_disk(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  // Some file systems cannot sync a folder (EINVAL); they need no syncing either.
  if (file.get() < 0 || (::fsync(file.get()) != 0 && errno != EINVAL))
    throw Error(path + " could not be written to the disk (" + std::strerror(errno) +
                "): free space or choose another folder.");
}

ShardWriter::ShardWriter(const std::string& path, std::uint64_t total_bytes)
    : path_(path), temporary_(path + ".tmp-" + std::to_string(::getpid())), total_bytes_(total_bytes) {
  try {
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail("cannot be made", errno);
    reserve(total_bytes + kMetadataReserve);  // is there room at all? HDF5 empties the file again
    file_.emplace(h5::File::create(temporary_));
    file_->create_bytes("/bytes", total_bytes);
    file_->flush();
    const auto offset = file_->byte_offset("/bytes");
    if (!offset)
      throw Error("HDF5 gave " + temporary_ +
                  " no place for its records: this library cannot write shards; use HDF5 1.10 or newer.");
    bytes_at_ = *offset;
    reserve(bytes_at_ + total_bytes + kMetadataReserve);
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    file_.reset();
    ::unlink(temporary_.c_str());
    throw;
  }
}

ShardWriter::~ShardWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  file_.reset();
  ::unlink(temporary_.c_str());
}

void ShardWriter::fail(const std::string& what, int error) {
  throw Error(
      "The shard " + path_ + " " + what + " (" + std::strerror(error) + "): free space or choose another folder.");
}

void ShardWriter::reserve(std::uint64_t bytes) {
  const int error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  // File systems without the call say EOPNOTSUPP or EINVAL; there a full disk is met while writing.
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL)
    fail("needs " + std::to_string(bytes) + " bytes that the disk does not have", error);
}

void ShardWriter::put(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  if (offset > total_bytes_ || bytes.size() > total_bytes_ - offset)
    throw std::out_of_range("record outside the shard");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(bytes_at_ + offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) fail("cannot be written", wrote == 0 ? ENOSPC : errno);
    done += static_cast<std::size_t>(wrote);
  }
}

void ShardWriter::finish(const ShardIndex& index, const std::map<std::string, std::string>& texts,
    const std::map<std::string, std::int64_t>& numbers) {
  for_each_array(index, [&](const char* name, const auto& array, int columns) {
    using T = typename std::remove_cvref_t<decltype(array)>::value_type;
    const h5::Dims dims =
        columns == 1 ? h5::Dims{array.size()} : h5::Dims{array.size() / columns, static_cast<std::uint64_t>(columns)};
    file_->write<T>(name, array, dims);
  });
  file_->write_strings("/category/name", index.category_name);
  file_->set_attribute("format", std::string(kShardFormat));
  file_->set_attribute("format_version", kShardVersion);
  file_->set_attribute("index_crc32c", static_cast<std::int64_t>(index_crc32c(index)));
  for (const auto& [name, value] : texts) file_->set_attribute(name, value);
  for (const auto& [name, value] : numbers) file_->set_attribute(name, value);
  file_->close();
  file_.reset();
  sync_to_disk(temporary_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be given its name", errno);
  sync_to_disk(fs::path(path_).parent_path().string());
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace ttt::data
