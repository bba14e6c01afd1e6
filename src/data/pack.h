// COCO (a folder of JPEGs and an instances JSON) into shards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coco/dataset.h"

namespace ttt::data {

struct PackSettings {
  std::string images;         // folder of the JPEGs
  std::string annotations;    // instances JSON
  std::string out;            // folder of the shards, made where missing
  std::string split;          // their name: letters, digits, '_', '-', '.'
  bool filter_empty = false;  // MLPerf's training set: drop images without a box wider and higher than 1
  std::uint64_t shard_bytes = 384ull << 20;
  // An annotation whose box or polygon leaves its image by more than kOutsideTolerance: error, clip or skip.
  std::string outside = "error";
  bool follow_outside = false;  // take images whose path or symbolic link leads out of `images`
  bool overwrite = false;       // replace shards of the same split
  int threads = 1;
  std::string packer;  // who packs, for the shards' attributes: version and commit
  std::function<void(std::int64_t done, std::int64_t all)> progress;  // images; called from the calling thread
};

struct PackResult {
  std::int64_t images = 0, annotations = 0, shards = 0;
  std::int64_t images_left_out = 0, annotations_clipped = 0, annotations_skipped = 0;
  std::uint64_t bytes = 0;
};

// Every JPEG is decoded once, and its size compared with the JSON's. Throws UsageError for a missing file or folder and
// for shards already there, and Error for a full disk. Throws DataError naming file, image and annotation: a corrupt
// JPEG, an image outside its folder, an annotation outside its image, an id given twice. Then no shard of this packing
// is left.
PackResult pack(const PackSettings& settings);

// The part of pack that judges annotations: those of one image, as they go into the shard.
struct JudgedAnnotations {
  std::vector<coco::Annotation> kept;
  std::int64_t clipped = 0, skipped = 0;
};
JudgedAnnotations judge_annotations(
    const coco::Image& image, const std::vector<const coco::Annotation*>& annotations, const std::string& outside);

}  // namespace ttt::data
