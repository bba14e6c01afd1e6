// Detections: every class but the background is its own candidate; NMS within a class; then the best over all classes.
// Ties: lower RoI, then lower class, which is torchvision's order.
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/common/box_math.h"
#include "kernels/common/score_key.h"
#include "kernels/detections/detections.h"
#include "kernels/nms/nms.h"

namespace ttt::kernels::host {
namespace {

struct ImageIn {
  const float* probabilities;  // [R, classes]
  const float* deltas;         // [R, classes, 4]
  const float* rois;           // [R, 4]
  std::int64_t rois_n;
  float height, width;
};

struct Detection {
  std::uint64_t key;  // score_key(probability, roi * classes + class)
  float box[4];
};

// Candidates of one class, best first, after NMS.
void detect_class(const DetectionParams& p, const ImageIn& in, std::int64_t label, std::vector<Detection>& out) {
  const float extra = p.coder.legacy ? 1.0f : 0.0f;
  std::vector<std::uint64_t> keys;
  for (std::int64_t r = 0; r < in.rois_n; ++r) {
    const float score = in.probabilities[r * p.classes + label];
    if (score > p.score_threshold) keys.push_back(score_key(score, static_cast<std::uint32_t>(r * p.classes + label)));
  }
  if (keys.empty()) return;
  std::sort(keys.begin(), keys.end());
  std::vector<float> boxes(4 * keys.size());
  std::size_t n = 0;
  for (const std::uint64_t key : keys) {
    float* box = boxes.data() + 4 * n;
    decode_box(p.coder, in.deltas + 4 * static_cast<std::int64_t>(key_index(key)),
               in.rois + key_index(key) / p.classes * 4, box);
    clip_box(box, in.height, in.width, extra);
    if (box_is_large(box, p.min_size, extra)) keys[n++] = key;
  }
  const std::int64_t most = std::min<std::int64_t>(p.detections, n);
  KeptBoxes kept(most);
  std::vector<std::int32_t> keep(n);
  const std::int64_t count = greedy_nms(n, boxes.data(), {p.nms_threshold, extra}, most, kept, keep.data());
  for (std::int64_t i = 0; i < count; ++i) {
    const float* box = boxes.data() + 4 * keep[i];
    out.push_back({keys[keep[i]], {box[0], box[1], box[2], box[3]}});
  }
}

}  // namespace

void detections(const DetectionParams& p, const DetectionsIn& in, const DetectionsOut& out, ThreadPool* pool) {
  if (!(p.nms_threshold >= 0.0f)) throw UsageError("NMS wants a threshold of at least 0. Correct nms_threshold.");
  if (p.rois * p.classes > 0xFFFFFFFFll)
    throw UsageError("RoIs times classes exceeds 2^32. Lower the number of proposals.");
  parallel_for(pool, p.images, [&](std::int64_t n) {
    const ImageIn image{in.probabilities + n * p.rois * p.classes,
                        in.deltas + n * p.rois * p.classes * 4,
                        in.rois + n * p.rois * 4,
                        std::min<std::int64_t>(in.roi_count[n], p.rois),
                        static_cast<float>(in.image_size[2 * n]),
                        static_cast<float>(in.image_size[2 * n + 1])};
    std::vector<Detection> all;
    for (std::int64_t c = 1; c < p.classes; ++c) detect_class(p, image, c, all);
    std::sort(all.begin(), all.end(), [](const Detection& a, const Detection& b) { return a.key < b.key; });
    const std::int64_t rows = std::min<std::int64_t>(p.detections, all.size());
    const std::int64_t first = n * p.detections;
    for (std::int64_t i = 0; i < rows; ++i) {
      std::copy_n(all[i].box, 4, out.boxes + 4 * (first + i));
      out.score[first + i] = key_score(all[i].key);
      out.label[first + i] = static_cast<std::int32_t>(key_index(all[i].key) % p.classes);
    }
    std::fill(out.boxes + 4 * (first + rows), out.boxes + 4 * (first + p.detections), 0.0f);
    std::fill(out.score + first + rows, out.score + first + p.detections, 0.0f);
    std::fill(out.label + first + rows, out.label + first + p.detections, 0);
    out.count[n] = static_cast<std::int32_t>(rows);
  });
}

}  // namespace ttt::kernels::host
