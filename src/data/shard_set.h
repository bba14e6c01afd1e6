// The shards of one split: <folder>/<split>-00000-of-00004.h5 and so on, as one list of images.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coco/dataset.h"
#include "data/shard_file.h"

namespace ttt::data {

struct ImageInfo {
  std::int64_t id = 0;
  std::int32_t height = 0, width = 0;
};

// Immutable and shared by all threads.
class ShardSet {
 public:
  // Throws UsageError (no folder, no shard of this split) or DataError (a shard missing, of another packing, damaged).
  ShardSet(const std::string& folder, const std::string& split, ShardFile::Path preferred = ShardFile::Path::kPread);

  std::int64_t size() const { return static_cast<std::int64_t>(place_.size()); }
  const std::string& folder() const { return folder_; }
  const std::string& split() const { return split_; }
  ImageInfo image(std::int64_t i) const;
  // Annotations that can become targets: not crowd, box not empty.
  std::int64_t objects(std::int64_t i) const;
  std::int64_t max_objects() const { return max_objects_; }
  // Sorted by id; label l of a batch is categories()[l - 1].
  const std::vector<coco::Category>& categories() const { return categories_; }
  std::string source_file() const;    // name of the annotations' JSON file
  std::string source_sha256() const;  // of that file

  // Bytes of image i in out[0, returned).
  std::int64_t read(std::int64_t i, std::vector<std::uint8_t>& out) const;
  void will_need(std::int64_t i) const;
  std::string describe(std::int64_t i) const;
  const ShardFile& shard_of(std::int64_t i) const { return *shards_[place_[i].shard]; }
  std::int64_t record_of(std::int64_t i) const { return place_[i].record; }
  const std::vector<std::unique_ptr<ShardFile>>& shards() const { return shards_; }

  // The data set that was packed, for the evaluator: everything that AP depends on, in the JSON's order. File names
  // are COCO's ("000000000139.jpg"), made from the ids.
  coco::Dataset ground_truth() const;

 private:
  struct Place {
    std::uint32_t shard, record;
  };
  std::string folder_, split_;
  std::vector<std::unique_ptr<ShardFile>> shards_;
  std::vector<Place> place_;
  std::vector<coco::Category> categories_;
  std::int64_t max_objects_ = 0;
};

std::string shard_name(const std::string& split, std::int64_t i, std::int64_t n);  // "train-00002-of-00064.h5"
// File names (without folder) of all shards of a split in a folder, sorted.
std::vector<std::string> find_shards(const std::string& folder, const std::string& split);

}  // namespace ttt::data
