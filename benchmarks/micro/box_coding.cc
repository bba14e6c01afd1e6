// Boxes to regression targets and back. Peer: ATen's element-wise operators, as torchvision's BoxCoder has them.
// links: ttt_kernels_host torch::cpu
#include <ATen/ops/stack.h>

#include "bench.h"
#include "kernels/box_coder/box_coder.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::int64_t boxes;
};
constexpr Shape kShapes[] = {{"default_rois", 4 * 64}, {"mlperf_rois", 2 * 512}, {"mlperf_anchors", 2 * 268569}};
constexpr kernels::BoxCoderParams kCoder{};

// Columns x1, y1, x2, y2 as centre and sides.
struct Columns {
  explicit Columns(const at::Tensor& b) : w(b.select(1, 2) - b.select(1, 0)), h(b.select(1, 3) - b.select(1, 1)), x(b.select(1, 0) + 0.5 * w), y(b.select(1, 1) + 0.5 * h) {}
  at::Tensor w, h, x, y;
};

struct Case {
  explicit Case(const Shape& s)
      : n(s.boxes), gt(random_boxes(1, n, 800, 1344, 16)), reference(random_boxes(2, n, 800, 1344, 16)), deltas(4 * n), boxes(4 * n) {}
  void encode() { kernels::host::encode_boxes(kCoder, n, gt.data(), reference.data(), deltas.data()); }
  void decode() { kernels::host::decode_boxes(kCoder, n, deltas.data(), reference.data(), boxes.data()); }
  void encode_aten() {
    const Columns g(view(gt, {n, 4})), r(view(reference, {n, 4}));
    encoded = at::stack({(g.x - r.x) / r.w, (g.y - r.y) / r.h, (g.w / r.w).log(), (g.h / r.h).log()}, 1);
  }
  void decode_aten() {
    const at::Tensor d = view(deltas, {n, 4});
    const Columns r(view(reference, {n, 4}));
    const at::Tensor x = d.select(1, 0) * r.w + r.x, y = d.select(1, 1) * r.h + r.y, w = d.select(1, 2).clamp_max(kCoder.clamp).exp() * r.w,
                     h = d.select(1, 3).clamp_max(kCoder.clamp).exp() * r.h;
    decoded = at::stack({x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h}, 1);
  }
  std::string disagreement() {
    encode(), encode_aten();
    const std::string first = difference<float>("encode", deltas, values_of(encoded), 1e-5);
    decode(), decode_aten();
    return first.empty() ? difference<float>("decode", boxes, values_of(decoded), 1e-4) : first;
  }
  std::string label() const { return words("%lld boxes", (long long)n); }
  double items() const { return static_cast<double>(n); }
  static constexpr const char* kItems = "boxes/s";
  std::int64_t n;
  Values gt, reference, deltas, boxes;
  at::Tensor encoded, decoded;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("box_encode", s, "ours", &Case::encode);
    add<Case>("box_encode", s, "aten", &Case::encode_aten);
    add<Case>("box_decode", s, "ours", &Case::decode);
    add<Case>("box_decode", s, "aten", &Case::decode_aten);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
