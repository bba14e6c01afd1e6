// Proposals: the highest logits of each level, decoded, clipped, suppressed, the best over all levels. Peer: ATen's topk and element-wise operators; its
// suppression is ours, which nms.cc compares.
// links: ttt_kernels_host torch::cpu
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "bench.h"
#include "kernels/nms/nms.h"
#include "kernels/proposals/proposals.h"
#include "rpn_inputs.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Case : RpnInputs {
  explicit Case(const Detector& s) : RpnInputs(s), boxes(s.images * s.post_nms * 4), scores(s.images * s.post_nms), theirs(scores.size()), count(s.images) {
    p.images = s.images, p.anchors = n, p.levels = 5, p.pre_nms = s.pre_nms, p.post_nms = s.post_nms;
    std::copy(anchors.level_start.begin(), anchors.level_start.end(), p.level_start);
  }
  void ours() {
    kernels::host::proposals(p, {logits.data(), deltas.data(), anchors.boxes.data(), size.data()},
                             {boxes.data(), scores.data(), count.data()});
  }
  void aten() {
    std::fill(theirs.begin(), theirs.end(), 0.0f);
    for (std::int64_t i = 0; i < shape.images; ++i) {
      std::vector<at::Tensor> level_boxes, level_scores;
      for (int l = 0; l < p.levels; ++l) add_level(i, p.level_start[l], p.level_start[l + 1], level_boxes, level_scores);
      const at::Tensor all = at::cat(level_scores);
      const auto [best, index] = all.topk(std::min(shape.post_nms, all.size(0)));
      const at::Tensor chosen = at::cat(level_boxes).index_select(0, index);
      std::copy_n(best.const_data_ptr<float>(), best.numel(), theirs.data() + i * shape.post_nms);
      benchmark::DoNotOptimize(chosen.const_data_ptr());
    }
  }
  void add_level(std::int64_t image, std::int64_t begin, std::int64_t end, std::vector<at::Tensor>& level_boxes, std::vector<at::Tensor>& level_scores) const {
    const auto [score, index] = view(logits, {shape.images, n})[image].slice(0, begin, end).topk(std::min(shape.pre_nms, end - begin));
    const at::Tensor a = view(anchors.boxes, {n, 4}).slice(0, begin, end).index_select(0, index),
                     d = view(deltas, {shape.images, n, 4})[image].slice(0, begin, end).index_select(0, index);
    const at::Tensor side = a.slice(1, 2) - a.slice(1, 0, 2), centre = a.slice(1, 0, 2) + 0.5 * side + d.slice(1, 0, 2) * side,
                     half = 0.5 * d.slice(1, 2).clamp_max(p.coder.clamp).exp() * side;
    const at::Tensor box = at::cat({centre - half, centre + half}, 1);
    box.slice(1, 0, 4, 2).clamp_(0, shape.width), box.slice(1, 1, 4, 2).clamp_(0, shape.height);
    const at::Tensor large = ((box.slice(1, 2) - box.slice(1, 0, 2)) >= p.min_size).all(1).nonzero().flatten();
    const at::Tensor candidates = box.index_select(0, large);
    at::Tensor keep = at::empty({candidates.size(0)}, at::kInt);
    const std::int64_t kept = kernels::host::nms(candidates.size(0), candidates.const_data_ptr<float>(), p.nms_threshold, false, keep.data_ptr<std::int32_t>());
    keep = keep.slice(0, 0, kept);
    level_boxes.push_back(candidates.index_select(0, keep));
    level_scores.push_back(score.index_select(0, large).index_select(0, keep));
  }
  std::string disagreement() {
    ours(), aten();
    return difference<float>("proposals", scores, theirs, 1e-2);  // a box at the threshold moves those behind it by one place
  }
  std::string label() const {
    return words("%lld images, %lld anchors, best %lld of a level, %d kept", (long long)shape.images, (long long)n, (long long)shape.pre_nms, count[0]);
  }
  double items() const { return static_cast<double>(shape.images); }
  static constexpr const char* kItems = "images/s";
  kernels::ProposalParams p;
  Values boxes, scores, theirs;
  std::vector<std::int32_t> count;
};

const bool added = [] {
  for (const Detector& s : kDetectors) {
    add<Case>("proposals", s, "ours", &Case::ours);
    add<Case>("proposals", s, "aten", &Case::aten);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
