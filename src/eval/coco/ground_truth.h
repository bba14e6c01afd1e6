// The ground truth, sorted and rasterised once, for any number of evaluations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coco/dataset.h"
#include "eval/coco/params.h"

namespace ttt::eval::coco {

// Ids, ascending and unique, to their positions.
class IdIndex {
 public:
  IdIndex() = default;
  explicit IdIndex(std::vector<std::int64_t> ids);
  const std::vector<std::int64_t>& ids() const { return ids_; }
  std::int32_t size() const { return static_cast<std::int32_t>(ids_.size()); }
  std::int32_t find(std::int64_t id) const;  // -1 where there is none

 private:
  std::vector<std::int64_t> ids_;
  std::vector<std::int32_t> table_;  // by id - ids_[0], where the ids are dense enough
};

// What the comparison of masks asks first, found in one pass over the runs.
struct MaskSummary {
  std::uint64_t area = 0;
  std::uint32_t begin = 0, end = 0;  // object pixels lie in [begin, end), column-major
};
MaskSummary summarise(const ttt::coco::RleView& mask);

struct Object {
  std::int32_t image = 0, category = 0;  // positions in the ascending ids
  std::array<double, 4> bbox{};
  std::uint8_t ignored = 0;  // bit a: not counted in area range a (a crowd, or too small or too large)
  bool crowd = false;
  // pycocotools keeps matches as ids with 0 for none: the object with id 0 uses up a detection and does not count.
  bool has_id_zero = false;
  ttt::coco::Rle mask;
  MaskSummary summary;
};

class GroundTruth {
 public:
  struct Options {
    bool masks = true;  // needed for IouType::kSegm
    int threads = 1;    // for rasterising
  };
  // `dataset` may go afterwards. Annotations of images or categories that are not listed are left out, and of
  // annotations with one id the last stands for all, as in pycocotools. With masks, throws DataError where an
  // annotation has none.
  GroundTruth(const ttt::coco::Dataset& dataset, const Options& options);
  explicit GroundTruth(const ttt::coco::Dataset& dataset) : GroundTruth(dataset, Options{}) {}

  const IdIndex& images() const { return images_; }
  const IdIndex& categories() const { return categories_; }
  bool has_masks() const { return has_masks_; }
  struct Size {
    std::uint32_t height = 0, width = 0;
  };
  Size image_size(std::int32_t image) const { return sizes_[image]; }

  // By category, then image, then in pycocotools' order.
  std::span<const Object> objects() const { return objects_; }
  std::span<const Object> objects(std::int32_t category) const {
    return objects().subspan(starts_[category], starts_[category + 1] - starts_[category]);
  }
  // May say true where there are none, if images and categories are too many for a table.
  bool has_objects(std::int32_t image, std::int32_t category) const {
    if (occupied_.empty()) return true;
    const std::size_t bit = static_cast<std::size_t>(image) * categories_.size() + category;
    return occupied_[bit / 64] >> (bit % 64) & 1;
  }
  // Objects that count in each area range.
  const std::array<std::int64_t, kAreas>& counted(std::int32_t category) const { return counted_[category]; }

 private:
  IdIndex images_, categories_;
  bool has_masks_ = false;
  std::vector<Size> sizes_;  // [images]
  std::vector<Object> objects_;
  std::vector<std::size_t> starts_;                        // [categories + 1]
  std::vector<std::uint64_t> occupied_;                    // one bit per image and category; empty: too many
  std::vector<std::array<std::int64_t, kAreas>> counted_;  // [categories]
};

}  // namespace ttt::eval::coco
