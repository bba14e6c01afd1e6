// Anchors against ground truth. Peer: ATen operators as torchvision's matcher has them: the matrix of IoUs, its maxima, the low-quality matches.
// links: ttt_kernels_host torch::cpu
#include <ATen/ops/full_like.h>
#include <ATen/ops/max.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>

#include "bench.h"
#include "rpn_inputs.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Case : RpnInputs {
  explicit Case(const Detector& s) : RpnInputs(s), theirs(matched.size()) {}
  void ours() { match_anchors(); }
  void aten() {
    const at::Tensor a = view(anchors.boxes, {n, 4});
    for (std::int64_t i = 0; i < shape.images; ++i) {
      const at::Tensor g = view(gt, {shape.images, kGtCapacity, 4})[i].slice(0, 0, gt_count[i]);
      const at::Tensor corner = at::minimum(g.unsqueeze(1).slice(2, 2), a.slice(1, 2)) - at::maximum(g.unsqueeze(1).slice(2, 0, 2), a.slice(1, 0, 2));
      const at::Tensor overlap = corner.clamp_min(0).prod(2);
      const auto area = [](const at::Tensor& b) { return (b.slice(1, 2) - b.slice(1, 0, 2)).prod(1); };
      const at::Tensor iou = overlap / (area(g).unsqueeze(1) + area(a) - overlap);  // [gt, anchors]
      const auto [best, argmax] = iou.max(0);
      at::Tensor index = at::where(best < 0.7, at::full_like(argmax, -2), argmax);
      index.masked_fill_(best < 0.3, -1);
      const at::Tensor tied = (iou == std::get<0>(iou.max(1, /*keepdim=*/true))).any(0);
      index = at::where(tied, argmax, index).to(at::kInt);
      std::copy_n(index.const_data_ptr<std::int32_t>(), n, theirs.data() + i * n);
    }
  }
  std::string disagreement() {
    ours(), aten();
    return difference<std::int32_t>("match", matched, theirs, 0, 1e-4);  // an IoU on a threshold may fall to either side
  }
  std::string label() const {
    return words("%lld images of %lld x %lld, %lld anchors, 10 objects each", (long long)shape.images, (long long)shape.height, (long long)shape.width, (long long)n);
  }
  double items() const { return static_cast<double>(shape.images * n); }
  static constexpr const char* kItems = "anchors/s";
  std::vector<std::int32_t> theirs;
};

const bool added = [] {
  for (const Detector& s : kDetectors) {
    add<Case>("match", s, "ours", &Case::ours);
    add<Case>("match", s, "aten", &Case::aten);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
