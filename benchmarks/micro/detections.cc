// Detections of a batch: scores above the threshold, decoded, suppressed in each class, the best of an image. Peer: the definition, class by class; its
// suppression is ours, which nms.cc compares.
// links: ttt_kernels_host
#include <numeric>

#include "bench.h"
#include "inputs.h"
#include "kernels/detections/detections.h"
#include "kernels/nms/nms.h"
#include "shapes.h"

namespace ttt::micro {
namespace {

struct Case {
  explicit Case(const Detector& s)
      : shape(s),
        p{.images = s.images, .rois = s.rois, .classes = s.classes, .detections = s.detections, .coder = {10, 10, 5, 5}},
        probability(random_values(5, s.images * s.rois * s.classes, 0, 1)),
        deltas(random_values(6, s.images * s.rois * s.classes * 4, -1, 1)),
        rois(random_boxes(7, s.images * s.rois, static_cast<double>(s.height), static_cast<double>(s.width), 16)),
        boxes(s.images * s.detections * 4), score(s.images * s.detections), their_boxes(boxes.size()), their_score(score.size()),
        roi_count(s.images, static_cast<std::int32_t>(s.rois)), label_of(score.size()), their_label(score.size()), count(s.images) {
    for (float& x : probability) x = x > 0.96f ? x : x * 0.05f;  // a few classes of each RoI above the threshold
    for (std::int64_t i = 0; i < s.images; ++i) size.insert(size.end(), {static_cast<std::int32_t>(s.height), static_cast<std::int32_t>(s.width)});
  }
  void ours() {
    kernels::host::detections(p, {probability.data(), deltas.data(), rois.data(), roi_count.data(), size.data()},
                              {boxes.data(), score.data(), label_of.data(), count.data()});
  }
  struct Found {
    float score;
    std::int64_t candidate;  // RoI x classes + class: of equal scores the lower one comes first
    float box[4];
  };
  void class_by_class() {
    std::fill(their_score.begin(), their_score.end(), 0.0f), std::fill(their_boxes.begin(), their_boxes.end(), 0.0f);
    std::fill(their_label.begin(), their_label.end(), 0);
    for (std::int64_t i = 0; i < p.images; ++i) {
      std::vector<Found> found;
      for (std::int64_t c = 1; c < p.classes; ++c) add_class(i, c, found);
      std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score != b.score ? a.score > b.score : a.candidate < b.candidate; });
      for (std::int64_t k = 0; k < std::min(p.detections, std::ssize(found)); ++k) {
        const std::int64_t row = i * p.detections + k;
        their_score[row] = found[k].score, their_label[row] = static_cast<std::int32_t>(found[k].candidate % p.classes);
        std::copy_n(found[k].box, 4, their_boxes.data() + 4 * row);
      }
    }
  }
  void add_class(std::int64_t image, std::int64_t c, std::vector<Found>& found) const {
    std::vector<std::pair<float, std::int64_t>> order;  // score, RoI
    for (std::int64_t r = 0; r < p.rois; ++r)
      if (const float x = probability[(image * p.rois + r) * p.classes + c]; x > p.score_threshold) order.emplace_back(x, image * p.rois + r);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    Values sorted;
    std::vector<Found> candidates;
    for (const auto& [x, r] : order) {
      float b[4];
      kernels::host::decode_boxes(p.coder, 1, deltas.data() + (r * p.classes + c) * 4, rois.data() + 4 * r, b);
      for (int k = 0; k < 4; ++k) b[k] = std::clamp(b[k], 0.0f, static_cast<float>(k % 2 ? shape.height : shape.width));
      if (b[2] - b[0] < p.min_size || b[3] - b[1] < p.min_size) continue;
      sorted.insert(sorted.end(), b, b + 4), candidates.push_back({x, r * p.classes + c, {b[0], b[1], b[2], b[3]}});
    }
    std::vector<std::int32_t> keep(candidates.size());
    const std::int64_t kept = kernels::host::nms(std::ssize(candidates), sorted.data(), p.nms_threshold, false, keep.data());
    for (std::int64_t k = 0; k < kept; ++k) found.push_back(candidates[keep[k]]);
  }
  std::string disagreement() {
    ours(), class_by_class();
    if (auto wrong = difference<float>("scores of detections", score, their_score, 0); !wrong.empty()) return wrong;
    if (auto wrong = difference<std::int32_t>("labels of detections", label_of, their_label, 0); !wrong.empty()) return wrong;
    return difference<float>("boxes of detections", boxes, their_boxes, 1e-5);
  }
  std::string label() const {
    return words("%lld images, %lld RoIs, %lld classes, %d found", (long long)p.images, (long long)p.rois, (long long)p.classes, count[0]);
  }
  double items() const { return static_cast<double>(p.images); }
  static constexpr const char* kItems = "images/s";
  const Detector& shape;
  kernels::DetectionParams p;
  Values probability, deltas, rois, boxes, score, their_boxes, their_score;
  std::vector<std::int32_t> roi_count, size, label_of, their_label, count;
};

const bool added = [] {
  for (const Detector& s : kDetectors) {
    add<Case>("detections", s, "ours", &Case::ours);
    add<Case>("detections", s, "class_by_class", &Case::class_by_class);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
