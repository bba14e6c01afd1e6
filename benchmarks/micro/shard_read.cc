// A record from the page cache, its checksum verified, by pread. Peer: the same record through HDF5.
// links: ttt_data
#include "bench.h"
#include "input_image.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
};
constexpr Shape kShapes[] = {{"photograph"}};

struct Case {
  explicit Case(const Shape&)
      : direct(input_image().set->folder(), "train", ShardFile::Path::kPread),
        library(input_image().set->folder(), "train", ShardFile::Path::kHdf5) {}
  void pread() { direct.read(0, bytes); }
  void hdf5() { library.read(0, bytes); }
  std::string disagreement() {
    if (direct.shards()[0]->read_path() != ShardFile::Path::kPread) return "shard_read: this file is not read by pread";
    const auto& jpeg = input_image().jpeg;
    for (const auto read : {&Case::pread, &Case::hdf5}) {
      (this->*read)();
      if (const std::string text = difference<std::uint8_t>("shard_read", std::span(bytes).first(jpeg.size()), jpeg, 0);
          !text.empty())
        return text;
    }
    return "";
  }
  std::string label() const { return words("%zu bytes", input_image().jpeg.size()); }
  double items() const { return static_cast<double>(input_image().jpeg.size()); }
  static constexpr const char* kItems = "bytes/s";
  ShardSet direct, library;
  std::vector<std::uint8_t> bytes;
};

const bool added = [] {
  add<Case>("shard_read", kShapes[0], "ours", &Case::pread);
  add<Case>("shard_read", kShapes[0], "hdf5", &Case::hdf5);
  return true;
}();

}  // namespace
}  // namespace ttt::micro
