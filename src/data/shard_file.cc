#include "data/shard_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/crc32c.h"
#include "core/error.h"

namespace ttt::data {

ShardFile::ShardFile(const std::string& path, Path preferred) : path_(path), file_(h5::File::open(path)) {
  if (!file_.has_attribute("format") || !file_.has_attribute("format_version") ||
      file_.string_attribute("format") != kShardFormat)
    throw DataError(path + " is an HDF5 file, but not a shard: name a folder that pack_coco wrote.");
  const std::int64_t version = file_.int_attribute("format_version");
  if (version != kShardVersion)
    throw DataError(path + " is a shard of format version " + std::to_string(version) +
                    " and this build reads version " + std::to_string(kShardVersion) +
                    ": pack the data again with this build's pack_coco.");
  load_index();
  choose_path(preferred);
}

ShardFile::~ShardFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ShardFile::load_index() {
  const h5::Dims shape = file_.dims("/bytes");
  if (shape.size() != 1)
    throw DataError("/bytes of " + path_ + " is not a list: the file is damaged; copy or pack it again.");
  total_bytes_ = shape[0];
  for_each_array(index_, [&](const char* name, auto& array, int) {
    array = file_.read<typename std::remove_reference_t<decltype(array)>::value_type>(name);
  });
  index_.category_name = file_.read_strings("/category/name");
  if (static_cast<std::int64_t>(index_crc32c(index_)) != file_.int_attribute("index_crc32c"))
    throw DataError(
        "The index of " + path_ + " does not match its checksum: the file is damaged; copy or pack it again.");
  check_index(index_, total_bytes_, path_);
}

void ShardFile::choose_path(Path preferred) {
  const auto offset = file_.byte_offset("/bytes");
  struct stat info {};
  if (offset && ::stat(path_.c_str(), &info) == 0 &&
      (*offset > static_cast<std::uint64_t>(info.st_size) ||
          total_bytes_ > static_cast<std::uint64_t>(info.st_size) - *offset))
    throw DataError(path_ + " is cut short: it has " + std::to_string(info.st_size) + " bytes of " +
                    std::to_string(*offset + total_bytes_) + "; copy or pack it again.");
  if (preferred == Path::kHdf5 || !offset) return;
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw DataError(path_ + " cannot be opened (" + std::strerror(errno) + "): check its permissions.");
  bytes_at_ = *offset;
  // The position is only believed when both ways read the same first record.
  if (index_.images() > 0) {
    std::vector<std::uint8_t> by_position(index_.length[0]), by_library(index_.length[0]);
    pread_bytes(index_.offset[0], index_.length[0], by_position.data(), 0);
    file_.read_bytes("/bytes", index_.offset[0], index_.length[0], by_library.data());
    if (by_position != by_library) return;
  }
  read_path_ = Path::kPread;
}

void ShardFile::pread_bytes(std::uint64_t offset, std::uint64_t count, std::uint8_t* out, std::int64_t record) const {
  for (std::uint64_t done = 0; done < count;) {
    const ssize_t got = ::pread(descriptor_, out + done, count - done, static_cast<off_t>(bytes_at_ + offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw DataError(describe(record) + " cannot be read (" +
                      (got == 0 ? "the file ends there" : std::strerror(errno)) + "): copy or pack the shard again.");
    done += static_cast<std::uint64_t>(got);
  }
}

void ShardFile::read(std::int64_t i, std::vector<std::uint8_t>& out) const {
  const std::uint64_t offset = index_.offset[i], count = index_.length[i];
  if (out.size() < count) out.resize(count);  // grow only: shrinking and growing again would clear what is overwritten
  if (read_path_ == Path::kPread) {
    pread_bytes(offset, count, out.data(), i);
  } else if (count > 0) {
    file_.read_bytes("/bytes", offset, count, out.data());
  }
  if (crc32c(out.data(), count) != index_.crc32c[i])
    throw DataError(describe(i) + " does not match its checksum: the file is damaged; copy or pack the shard again.");
}

void ShardFile::will_need(std::int64_t i) const {
  if (read_path_ == Path::kPread)
    ::posix_fadvise(
        descriptor_, static_cast<off_t>(bytes_at_ + index_.offset[i]), index_.length[i], POSIX_FADV_WILLNEED);
}

std::string ShardFile::describe(std::int64_t i) const {
  return path_ + ", record " + std::to_string(i) + ", image " + std::to_string(index_.image_id[i]);
}

}  // namespace ttt::data
