#include "eval/coco/evaluate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"

namespace ttt::eval::coco {
namespace {

constexpr std::int64_t kCellsPerTask = 64;
constexpr std::size_t kPerCell = kMaxDetections[kLimits - 1];

void check(const DetectionView& d, std::size_t index) {
  // Corners and area too: a sum or a product may overflow where its parts do not.
  const double sum =
      d.score + d.bbox[0] + d.bbox[1] + (d.bbox[0] + d.bbox[2]) + (d.bbox[1] + d.bbox[3]) + d.bbox[2] * d.bbox[3];
  if (std::isfinite(sum)) return;
  throw DataError("Detection " + std::to_string(index) + " on image " + std::to_string(d.image_id) +
                  " has a score or a box that is not finite. Leave such detections out.");
}

}  // namespace

void Prepared::group(std::span<const DetectionView> detections) {
  struct Place {
    std::int32_t category, image;
    const DetectionView* detection;
  };
  std::vector<Place> places;
  places.reserve(detections.size());
  std::vector<std::size_t> by_image(truth_.images().size() + 1), by_category(truth_.categories().size() + 1);
  for (std::size_t i = 0; i < detections.size(); ++i) {
    const DetectionView& d = detections[i];
    check(d, i);
    const std::int32_t image = truth_.images().find(d.image_id);
    if (image < 0) {
      throw DataError("Detection " + std::to_string(i) + " is on image " + std::to_string(d.image_id) +
                      ", which the ground truth does not have. Evaluate against the images that were detected on.");
    }
    const std::int32_t category = truth_.categories().find(d.category_id);
    if (category < 0) continue;
    places.push_back({category, image, &d});
    ++by_image[image + 1], ++by_category[category + 1];
  }
  // Two stable counting sorts: by image, then by category.
  for (std::size_t i = 1; i < by_image.size(); ++i) by_image[i] += by_image[i - 1];
  for (std::size_t k = 1; k < by_category.size(); ++k) by_category[k] += by_category[k - 1];
  std::vector<Place> sorted(places.size());
  for (const Place& p : places) sorted[by_image[p.image]++] = p;
  std::vector<std::size_t> next = by_category;
  for (const Place& p : sorted) places[next[p.category]++] = p;

  kept_.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) kept_[i] = places[i].detection;
  starts_ = std::move(by_category);
  for (std::int32_t k = 0; k < truth_.categories().size(); ++k) {
    std::span<const Object> objects = truth_.objects(k);
    for (std::size_t i = starts_[k]; i < starts_[k + 1];) {
      const std::int32_t image = places[i].image;
      Cell cell{i, i, {}};
      while (cell.end < starts_[k + 1] && places[cell.end].image == image) ++cell.end;
      while (!objects.empty() && objects[0].image < image) objects = objects.subspan(1);
      std::size_t n = 0;
      while (n < objects.size() && objects[n].image == image) ++n;
      cell.objects = objects.first(n);
      i = cell.end;
      cells_.push_back(cell);
    }
  }
}

Prepared::Prepared(const GroundTruth& truth, std::span<const DetectionView> detections, ThreadPool* pool)
    : truth_(truth) {
  group(detections);
  parallel_ranges(
      pool, static_cast<std::int64_t>(cells_.size()), kCellsPerTask, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
          // Ties stay in the given order, which is that of the addresses.
          std::sort(kept_.begin() + cells_[c].begin, kept_.begin() + cells_[c].end,
              [](const DetectionView* a, const DetectionView* b) {
                return a->score != b->score ? a->score > b->score : a < b;
              });
        }
      });
  // Close the gaps that the limit of 100 leaves, and rank.
  ranked_.resize(kept_.size());
  std::size_t out = 0, cell = 0;
  for (std::int32_t k = 0; k < truth_.categories().size(); ++k) {
    const std::size_t start = out, end = starts_[k + 1];
    for (; cell < cells_.size() && cells_[cell].begin < end; ++cell) {
      Cell& c = cells_[cell];
      const std::size_t n = std::min(c.end - c.begin, kPerCell), first = out;
      for (std::size_t i = 0; i < n; ++i, ++out) {
        kept_[out] = kept_[c.begin + i];
        ranked_[out] = {kept_[out]->score, static_cast<std::uint32_t>(out - start), static_cast<std::uint32_t>(i)};
      }
      c.begin = first, c.end = out;
    }
    starts_[k] = start;
  }
  starts_.back() = out;
  kept_.resize(out), ranked_.resize(out);
  parallel_for(pool, truth_.categories().size(), [&](std::int64_t k) { rank(static_cast<std::int32_t>(k)); });
}

void Prepared::rank(std::int32_t category) {
  std::sort(ranked_.begin() + starts_[category], ranked_.begin() + starts_[category + 1],
      [](const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score > b.score : a.match < b.match; });
}

Evaluation evaluate(const Prepared& p, IouType type, NumpySum sum, ThreadPool* pool, Evaluation out) {
  if (type == IouType::kSegm && !p.truth_.has_masks()) {
    throw UsageError("The ground truth was built without masks. Build it with masks to evaluate them.");
  }
  std::vector<Match> matches(p.kept_.size());
  parallel_ranges(
      pool, static_cast<std::int64_t>(p.cells_.size()), kCellsPerTask, [&](std::int64_t begin, std::int64_t end) {
        Matcher matcher;
        for (std::int64_t c = begin; c < end; ++c) {
          const Prepared::Cell& cell = p.cells_[c];
          matcher.match(std::span(p.kept_).subspan(cell.begin, cell.end - cell.begin), cell.objects, type,
              matches.data() + cell.begin);
        }
      });
  out.curves.resize(p.truth_.categories().size());
  parallel_for(pool, p.truth_.categories().size(), [&](std::int64_t k) {
    const std::size_t start = p.starts_[k], n = p.starts_[k + 1] - start;
    accumulate(std::span(p.ranked_).subspan(start, n), std::span(matches).subspan(start, n),
        p.truth_.counted(static_cast<std::int32_t>(k)), k, out.curves);
  });
  out.stats = summarise(out.curves, sum);
  return out;
}

Evaluation evaluate(
    const GroundTruth& truth, std::span<const DetectionView> detections, IouType type, const Options& options) {
  ThreadPool pool(options.threads);
  return evaluate(Prepared(truth, detections, &pool), type, options.sum, &pool);
}

Evaluation evaluate(
    const GroundTruth& truth, std::span<const Detection> detections, IouType type, const Options& options) {
  return evaluate(truth, std::span<const DetectionView>(views(detections)), type, options);
}

}  // namespace ttt::eval::coco
