#include "eval/coco/ground_truth.h"

#include <algorithm>
#include <unordered_map>

#include "core/parallel.h"

namespace ttt::eval::coco {
namespace {

using ttt::coco::Annotation;
using ttt::coco::Dataset;

constexpr std::size_t kMaxTableBits = std::size_t{1} << 30;  // 128 MiB

template <class T> IdIndex index_of(const std::vector<T>& items) {
  std::vector<std::int64_t> ids;
  ids.reserve(items.size());
  for (const T& item : items) ids.push_back(item.id);
  return IdIndex(std::move(ids));
}

// The annotations that count, in pycocotools' order: by image, then as in the file; of annotations with one id, the
// last of the file stands at the place of each.
std::vector<const Annotation*> ordered(const Dataset& dataset, const IdIndex& images, const IdIndex& categories) {
  std::unordered_map<std::int64_t, const Annotation*> last;
  last.reserve(dataset.annotations.size());
  for (const Annotation& a : dataset.annotations) last[a.id] = &a;
  const bool unique = last.size() == dataset.annotations.size();

  std::vector<std::pair<std::int32_t, const Annotation*>> found;
  found.reserve(dataset.annotations.size());
  for (const Annotation& a : dataset.annotations) {
    const std::int32_t image = images.find(a.image_id);
    if (image >= 0 && categories.find(a.category_id) >= 0) found.emplace_back(image, &a);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Annotation*> out;
  out.reserve(found.size());
  for (const auto& [image, annotation] : found) out.push_back(unique ? annotation : last[annotation->id]);
  return out;
}

Object object_of(const Annotation& a, std::int32_t image, std::int32_t category) {
  Object o{image, category, a.bbox};
  for (int r = 0; r < kAreas; ++r) {
    if (a.iscrowd || a.area < kAreaRanges[r][0] || a.area > kAreaRanges[r][1]) o.ignored |= 1u << r;
  }
  o.crowd = a.iscrowd;
  o.has_id_zero = a.id == 0;
  return o;
}

}  // namespace

IdIndex::IdIndex(std::vector<std::int64_t> ids) : ids_(std::move(ids)) {
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  if (ids_.empty()) return;
  // Differences of 64-bit ids need 65 bits: unsigned arithmetic wraps to the right answer.
  const std::uint64_t range = static_cast<std::uint64_t>(ids_.back()) - static_cast<std::uint64_t>(ids_.front());
  if (range > 1024 + 256 * ids_.size()) return;
  table_.assign(range + 1, -1);
  for (std::size_t i = 0; i < ids_.size(); ++i) table_[ids_[i] - ids_.front()] = static_cast<std::int32_t>(i);
}

std::int32_t IdIndex::find(std::int64_t id) const {
  if (ids_.empty() || id < ids_.front() || id > ids_.back()) return -1;
  if (!table_.empty()) return table_[id - ids_.front()];
  const auto it = std::lower_bound(ids_.begin(), ids_.end(), id);
  return *it == id ? static_cast<std::int32_t>(it - ids_.begin()) : -1;
}

MaskSummary summarise(const ttt::coco::RleView& mask) {
  MaskSummary s;
  std::uint64_t position = 0;
  const std::size_t pairs = mask.counts.size() / 2;
  bool any = false;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::uint64_t begin = position + mask.counts[2 * i], run = mask.counts[2 * i + 1];
    position = begin + run;
    if (run == 0) continue;
    if (!any) s.begin = static_cast<std::uint32_t>(begin), any = true;
    s.end = static_cast<std::uint32_t>(position);
    s.area += run;
  }
  return s;
}

GroundTruth::GroundTruth(const Dataset& dataset, const Options& options)
    : images_(index_of(dataset.images)), categories_(index_of(dataset.categories)), has_masks_(options.masks) {
  sizes_.resize(images_.size());
  for (const auto& image : dataset.images) sizes_[images_.find(image.id)] = {image.height, image.width};

  std::vector<const Annotation*> annotations = ordered(dataset, images_, categories_);
  std::vector<std::pair<std::int32_t, std::int32_t>> where;  // category, image
  std::vector<std::size_t> order;
  for (const Annotation* a : annotations) {
    where.emplace_back(categories_.find(a->category_id), images_.find(a->image_id));
    // An annotation that stands for another of its id may belong elsewhere.
    if (where.back().first >= 0 && where.back().second >= 0) order.push_back(where.size() - 1);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return where[a] < where[b]; });

  starts_.assign(categories_.size() + 1, 0);
  counted_.assign(categories_.size(), {});
  const std::size_t bits = static_cast<std::size_t>(images_.size()) * categories_.size();
  if (bits < kMaxTableBits) occupied_.assign(bits / 64 + 1, 0);
  objects_.reserve(order.size());
  for (const std::size_t i : order) {
    const auto [category, image] = where[i];
    const Object& o = objects_.emplace_back(object_of(*annotations[i], image, category));
    ++starts_[category + 1];
    for (int r = 0; r < kAreas; ++r) counted_[category][r] += !(o.ignored >> r & 1);
    if (occupied_.empty()) continue;
    const std::size_t bit = static_cast<std::size_t>(image) * categories_.size() + category;
    occupied_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  for (std::int32_t k = 0; k < categories_.size(); ++k) starts_[k + 1] += starts_[k];

  if (!options.masks) return;
  ThreadPool pool(options.threads);
  parallel_ranges(&pool, static_cast<std::int64_t>(order.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Object& o = objects_[i];
      const Size size = sizes_[o.image];
      o.mask = ttt::coco::mask_of(*annotations[order[i]], {images_.ids()[o.image], size.height, size.width, {}});
      o.summary = summarise(o.mask);
    }
  });
}

}  // namespace ttt::eval::coco
