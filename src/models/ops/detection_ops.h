// The detection operations that tensor libraries lack, as functions on tensors. The model receives them; replacing one
// entry exchanges a kernel. host_ops() runs the reference implementations on CPU tensors.
//
// Shapes and semantics are those of kernels/<op>/<op>.h. All tensors are contiguous; float32 and int32 (image ids
// int64). Only batch_norm, bias_relu, chosen_outputs, mask_logits and roi_align (with respect to the features) have
// gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coco/rle.h"
#include "comm/communicator.h"
#include "core/parallel.h"
#include "kernels/box_coder/box_coder.h"
#include "kernels/detections/detections.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/match/match.h"
#include "kernels/preprocess/preprocess.h"
#include "kernels/proposals/proposals.h"
#include "kernels/roi_align/roi_align.h"
#include "kernels/sample/sample.h"
#include "models/batch.h"
#include "models/ops/feature_gradient.h"

namespace ttt::model {

struct Sampled {
  at::Tensor index;      // [N, size] int32, positives first, then negatives, then 0
  at::Tensor positives;  // [N] int32
  at::Tensor total;      // [N] int32
};

struct Proposals {
  at::Tensor boxes;   // [N, post_nms, 4]
  at::Tensor scores;  // [N, post_nms] logits
  at::Tensor count;   // [N] int32
};

struct Detected {
  at::Tensor boxes;  // [N, D, 4]
  at::Tensor score;  // [N, D]
  at::Tensor label;  // [N, D] int32
  at::Tensor count;  // [N] int32
};

struct Normalised {
  at::Tensor y;               // [N, C, H, W] channels last
  at::Tensor mean, variance;  // [C] of the batch, without gradient; the variance biased
  std::int64_t rows = 0;      // N * H * W behind them, of all ranks where they are synchronised
};

// A convolution of 3 x 3, ReLU and a layer for each pixel, whose outputs are those of `kinds` anchors.
struct AnchorHead {
  at::Tensor kernel, kernel_bias;  // [C, C, 3, 3] channels last, [C]
  at::Tensor weight, bias;         // [outputs, C], [outputs]
  std::int64_t kinds = 1;
};

// The end of the mask head: a transposed convolution's bias, ReLU, and a 1 x 1 convolution with a map for each class.
struct MaskPredictor {
  at::Tensor bias;                 // [C] of the transposed convolution
  at::Tensor weight, weight_bias;  // [classes, C], [classes]
};

struct DetectionOps {
  std::string name;
  // Batch normalisation by the batch's own statistics, plus `residual` (undefined: none), then ReLU where `relu`, in
  // one pass. Gradients for x, weight, bias and residual. `sync`: statistics over all its ranks' batches, where it
  // reduces memory of x's device; null: over this rank's.
  // in: x [N, C, H, W] channels last
  std::function<Normalised(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
      const at::Tensor& residual, double eps, bool relu, comm::Communicator* sync)>
      batch_norm;
  // x + bias, plus `residual` (undefined: none), then ReLU where `relu`, in one pass and in place of x. x is the result
  // of an operation whose gradient does not need it (a convolution).
  // in: x [N, C, H, W] channels last, bfloat16 and float16 too; bias [C] float32
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& bias, const at::Tensor& residual, bool relu)>
      bias_relu;
  // max(0, max of 3 x 3 pixels of x + offset) at every second pixel: what follows a stem without gradients.
  // in: x as above, offset [C] float32, both without gradient
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& offset)> offset_relu_pool;
  // The same features, for operations whose gradients are added up in one place. Backward passes of these operations
  // run before that of this one, each once.
  // in: P2 .. P6, each [N, C, H, W] channels last, bfloat16 and float16 too
  std::function<Features(const std::array<at::Tensor, 5>&)> share;
  // in:  features, of which P2 .. P5 are read; rois [R, 4]; roi_image [R] int32
  // out: [R, C, pooled, pooled] channels last, of the features' type
  std::function<at::Tensor(
      const kernels::RoiAlignParams&, const Features&, const at::Tensor& rois, const at::Tensor& roi_image)>
      roi_align;
  // The head of a region proposal network for every pixel. Its gradient is that of chosen_outputs.
  // in:  features P2 .. P6, as above
  // out: [N, pixels, outputs] float32
  std::function<at::Tensor(const AnchorHead&, const std::array<at::Tensor, 5>& features)> all_outputs;
  // Its outputs for the pixels of chosen anchors, with a gradient for features and weights.
  // in:  all: what all_outputs gave; index [N, rows] int32 of anchors; count [N] int32, later rows are fillers
  // out: [N, rows, outputs] float32
  std::function<at::Tensor(
      const AnchorHead&, const Features&, const at::Tensor& all, const at::Tensor& index, const at::Tensor& count)>
      chosen_outputs;
  // The map of each row's own class, with gradients for blocks, bias, weight and weight_bias.
  // in:  blocks [M, P, P, 2, 2, C] the transposed convolution's product, without its bias; label [M] int32
  // out: logits [M, 2 P, 2 P] float32
  std::function<at::Tensor(const MaskPredictor&, const at::Tensor& blocks, const at::Tensor& label)> mask_logits;
  // out: matched [N, A] int32
  std::function<at::Tensor(const kernels::MatchParams&, const at::Tensor& gt, const at::Tensor& gt_count,
      const at::Tensor& candidates, const at::Tensor& visible)>
      match;
  // in: key [2] int64: seed, step
  std::function<Sampled(
      const kernels::SampleParams&, const at::Tensor& key, const at::Tensor& matched, const at::Tensor& image_id)>
      sample;
  std::function<at::Tensor(const kernels::BoxCoderParams&, const at::Tensor& gt, const at::Tensor& reference)>
      encode_boxes;
  std::function<Proposals(const kernels::ProposalParams&, const at::Tensor& logits, const at::Tensor& deltas,
      const at::Tensor& anchors, const at::Tensor& image_size)>
      proposals;
  std::function<Detected(const kernels::DetectionParams&, const at::Tensor& probabilities, const at::Tensor& deltas,
      const at::Tensor& rois, const at::Tensor& roi_count, const at::Tensor& image_size)>
      detections;
  // in:  object [R] int32 index into the batch's objects (image * gt_capacity + object), negative: zeros
  //      longest_side: a bound of any bitmap's sides [pixel], the padded images' for example
  // out: [R, size, size]
  std::function<at::Tensor(int size, const Masks&, const at::Tensor& object, const at::Tensor& rois,
      const at::Tensor& image_size, std::int64_t longest_side)>
      mask_targets_bitmap;
  std::function<at::Tensor(int size, const Masks&, const at::Tensor& object, const at::Tensor& rois)>
      mask_targets_polygon;
  // Masks pasted onto their boxes where the probability is above 0.5, run-length encoded in host memory: the host
  // waits. A box that is not finite, or beyond 1e8, gives an empty mask. On a device images have less than 2^31 pixels,
  // else NotSupported.
  // in: masks [M, size, size]; boxes [M, 4] and image_size [M, 2] int32 height, width in host memory
  std::function<std::vector<coco::Rle>(const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size)>
      encode_masks;
  // in:  image_size [N, 2] int32 after the resize; values [3, 256] what a byte becomes, by channel of the output
  // out: [N, 3, H, W] channels last
  std::function<at::Tensor(
      bool antialias, bool bgr, const RawImages&, const at::Tensor& image_size, const at::Tensor& values)>
      preprocess;
};

// `pool`: threads of the kernels; null: the calling thread.
DetectionOps host_ops(std::shared_ptr<ThreadPool> pool = nullptr);

}  // namespace ttt::model
