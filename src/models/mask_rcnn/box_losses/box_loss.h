// Losses of box regression, of region proposals and of detections.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "models/mask_rcnn/box_losses/kinds.h"
#include "models/ops/detection_ops.h"

namespace ttt::model {

// R rows; those of weight 0 are fillers, whose loss is 0. All tensors are float32 and finite.
struct BoxRows {
  at::Tensor deltas;              // [R, 4] predicted dx, dy, dw, dh, as `coder` encodes them
  at::Tensor target_deltas;       // [R, 4] from `reference` to `target`
  at::Tensor reference;           // [R, 4] anchors or proposals, x1 y1 x2 y2 [pixel]
  at::Tensor target;              // [R, 4] objects [pixel]
  at::Tensor weight;              // [R] 0 or 1
  double beta = 0;                // where smooth L1 turns linear
  kernels::BoxCoderParams coder;  // weights and clamp: a loss of the boxes themselves decodes deltas with them
};

// The sum over rows times `weight`, a scalar with gradient.
at::Tensor box_loss_sum(const std::string& kind, double weight, const BoxRows& rows);

#define TTT_DECLARE(name, doc) at::Tensor name##_sum(const BoxRows& rows);
TTT_BOX_LOSSES(TTT_DECLARE)
#undef TTT_DECLARE

}  // namespace ttt::model
