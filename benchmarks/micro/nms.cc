// Greedy non-maximum suppression of boxes in descending order of score. Peer: the definition, box against kept box, one at a time.
// links: ttt_kernels_host
#include "bench.h"
#include "inputs.h"
#include "kernels/nms/nms.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::int64_t boxes;
};
constexpr Shape kShapes[] = {{"400_boxes", 400}, {"2000_boxes", 2000}};  // one level before the cut, default and MLPerf
constexpr float kThreshold = 0.7f;

struct Case {
  explicit Case(const Shape& s) : n(s.boxes), boxes(random_boxes(4, n, 800, 1344, 100)), keep(n), keep_simple(n) {}
  void ours() { kept = kernels::host::nms(n, boxes.data(), kThreshold, false, keep.data()); }
  void simple() {
    kept_simple = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      bool suppressed = false;
      for (std::int64_t k = 0; k < kept_simple && !suppressed; ++k) suppressed = iou(boxes.data() + 4 * keep_simple[k], boxes.data() + 4 * i) > kThreshold;
      if (!suppressed) keep_simple[kept_simple++] = static_cast<std::int32_t>(i);
    }
  }
  static float iou(const float* a, const float* b) {
    const float w = std::min(a[2], b[2]) - std::max(a[0], b[0]), h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
    if (w <= 0 || h <= 0) return 0;
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h);
  }
  std::string disagreement() {
    ours(), simple();
    return difference<std::int32_t>("nms", std::span(keep).first(kept), std::span(keep_simple).first(kept_simple), 0);
  }
  std::string label() const { return words("%lld kept of %lld, threshold %.1f", (long long)kept, (long long)n, kThreshold); }
  double items() const { return static_cast<double>(n); }
  static constexpr const char* kItems = "boxes/s";
  std::int64_t n, kept = 0, kept_simple = 0;
  Values boxes;
  std::vector<std::int32_t> keep, keep_simple;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("nms", s, "ours", &Case::ours);
    add<Case>("nms", s, "simple_loop", &Case::simple);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
