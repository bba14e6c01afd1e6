#include "eval/coco/oddities.h"

#include <algorithm>
#include <unordered_set>

namespace ttt::eval::coco {
namespace {

// "WHAT: 3 (WHY)", where one of `items` or more is found.
template <class Items, class Is> void count(
    std::vector<std::string>& out, const Items& items, const std::string& what, const std::string& why, Is&& is) {
  if (const auto n = std::count_if(items.begin(), items.end(), is); n > 0)
    out.push_back(what + ": " + std::to_string(n) + " (" + why + ")");
}

template <class Items> void count_repeated(std::vector<std::string>& out, const Items& items, const std::string& what) {
  std::unordered_set<std::int64_t> seen;
  seen.reserve(items.size());
  count(out, items, what + " with the id of an earlier one", "the last of an id counts",
      [&](const auto& item) { return !seen.insert(item.id).second; });
}

// Where the image is listed with its size.
bool other_size(std::uint32_t height, std::uint32_t width, std::int64_t image_id, const GroundTruth& truth) {
  const std::int32_t image = truth.images().find(image_id);
  const GroundTruth::Size size = image < 0 ? GroundTruth::Size{} : truth.image_size(image);
  return size.height != 0 && size.width != 0 && (height != size.height || width != size.width);
}

}  // namespace

std::vector<std::string> oddities(const ttt::coco::Dataset& dataset, const GroundTruth& truth) {
  std::vector<std::string> out;
  count_repeated(out, dataset.images, "images");
  count_repeated(out, dataset.categories, "categories");
  count_repeated(out, dataset.annotations, "annotations");
  count(out, dataset.annotations, "annotations of unlisted images", "they do not count",
      [&](const auto& a) { return truth.images().find(a.image_id) < 0; });
  count(out, dataset.annotations, "annotations of unlisted categories", "they do not count",
      [&](const auto& a) { return truth.categories().find(a.category_id) < 0; });
  if (truth.has_masks())
    count(out, dataset.annotations, "annotations with a mask of another size than their image",
        "masks of different sizes never match", [&](const auto& a) {
          const auto* rle = std::get_if<ttt::coco::Rle>(&a.segmentation);
          return rle && other_size(rle->height, rle->width, a.image_id, truth);
        });
  return out;
}

std::vector<std::string> oddities(std::span<const DetectionView> detections, const GroundTruth& truth) {
  std::vector<std::string> out;
  count(out, detections, "detections of unlisted categories", "they do not count",
      [&](const auto& d) { return truth.categories().find(d.category_id) < 0; });
  if (truth.has_masks())
    count(out, detections, "detections with a mask of another size than their image",
        "masks of different sizes never match",
        [&](const auto& d) { return other_size(d.mask.height, d.mask.width, d.image_id, truth); });
  return out;
}

}  // namespace ttt::eval::coco
