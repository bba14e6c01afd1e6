// Region proposal network (Ren et al. 2015) over a pyramid.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "models/batch.h"
#include "models/mask_rcnn/anchors.h"
#include "models/mask_rcnn/backbone.h"
#include "models/mask_rcnn/losses.h"
#include "models/ops/detection_ops.h"

namespace ttt::model {

// The anchors of one padded image size on the device.
struct AnchorGrid {
  at::Tensor boxes;  // [A, 4]
  std::array<std::int64_t, kLevels + 1> level_start{};
};

struct RpnOutput {
  AnchorHead head;
  at::Tensor all;     // DetectionOps::all_outputs
  at::Tensor logits;  // [N, A]
  at::Tensor deltas;  // [N, A, 4]
  std::shared_ptr<const AnchorGrid> anchors;
};

class Rpn {
 public:
  Rpn(ParameterStore& store, const ModelConfig& config, const DetectionOps& ops);
  RpnOutput operator()(const Pyramid& features, std::int64_t image_height, std::int64_t image_width) const;

  struct TrainingSample {
    at::Tensor matched;  // [N, A] int32
    Sampled sampled;
  };
  TrainingSample sample(const RpnOutput& out, const DeviceBatch& batch) const;
  // {objectness, box}, by which the head is trained.
  std::array<at::Tensor, 2> losses(const Features& features, const RpnOutput& out, const DeviceBatch& batch,
      const TrainingSample& sample, const ShareCount& share) const;
  Proposals proposals(const RpnOutput& out, const at::Tensor& image_size, bool training) const;

 private:
  std::shared_ptr<const AnchorGrid> anchors(
      const Pyramid& features, std::int64_t image_height, std::int64_t image_width) const;
  struct Chosen {
    at::Tensor logits;  // [N, S]
    at::Tensor deltas;  // [N, S, 4]
  };
  Chosen chosen(const Features& features, const RpnOutput& out, const Sampled& sampled) const;
  // Outputs are the logits, then the deltas of all kinds, filled up to a multiple of eight, for which there are matrix
  // units.
  AnchorHead head() const;
  std::int64_t kinds() const { return static_cast<std::int64_t>(config_.rpn.anchor_ratios.size()); }
  kernels::BoxCoderParams coder() const;
  at::Tensor visible(const AnchorGrid& anchors, const at::Tensor& image_size) const;

  const ModelConfig& config_;
  const DetectionOps& ops_;
  Conv conv_, logits_, deltas_;
  mutable std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const AnchorGrid>> grids_;
};

}  // namespace ttt::model
