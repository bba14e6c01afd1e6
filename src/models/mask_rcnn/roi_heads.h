// Box head (Fast R-CNN, Girshick 2015) and mask head (He et al. 2017).
#pragma once

#include "models/batch.h"
#include "models/mask_rcnn/backbone.h"
#include "models/mask_rcnn/losses.h"
#include "models/ops/detection_ops.h"

namespace ttt::model {

// Proposals chosen for training, [N, S] rows of which each image's first positives[n] are positive and first total[n]
// count.
struct RoiSample {
  at::Tensor rois;       // [N, S, 4]
  at::Tensor object;     // [N, S] int64 index of the matched ground truth (0 for background)
  at::Tensor positives;  // [N] int32
  at::Tensor total;      // [N] int32
};

class RoiHeads {
 public:
  RoiHeads(ParameterStore& store, const ModelConfig& config, const DetectionOps& ops);

  RoiSample sample(const Proposals& proposals, const DeviceBatch& batch) const;
  // {classifier, box}
  std::array<at::Tensor, 2> box_losses(
      const Features& features, const DeviceBatch& batch, const RoiSample& sample, const ShareCount& share) const;
  // Rows of the mask branch for so many positives of `images` images, where ModelConfig::shapes is "quarters": the
  // least quarter of all rows that may be positive which holds them.
  std::int64_t mask_branch_rows(std::int64_t images, std::int64_t positives) const;
  // `in_quarters`: of mask_branch_rows(); other shapes do not look at it.
  at::Tensor mask_loss(const Features& features, const DeviceBatch& batch, const RoiSample& sample,
      std::int64_t in_quarters, const ShareCount& share) const;

  Detected detect(const Features& features, const Proposals& proposals, const DeviceBatch& batch) const;
  // Probabilities [M, 28, 28] of the detections in order of image and rank, where M is their number over all images.
  at::Tensor masks(const Features& features, const DeviceBatch& batch, const Detected& detected) const;

 private:
  struct BoxOutput {
    at::Tensor logits;  // [R, classes]
    at::Tensor deltas;  // [R, classes, 4]
  };
  struct MaskRows {
    at::Tensor rois;    // [M, 4]
    at::Tensor image;   // [M] int32, negative: a filler
    at::Tensor label;   // [M] int64
    at::Tensor object;  // [M] int32 index over the batch, negative: a filler
    at::Tensor weight;  // [M] float
  };
  BoxOutput box_head(const Features& features, const at::Tensor& rois, const at::Tensor& roi_image) const;
  MaskRows mask_rows(const DeviceBatch& batch, const RoiSample& sample, std::int64_t in_quarters) const;
  std::int64_t mask_rows_of_image() const {  // that may be positive
    return static_cast<std::int64_t>(static_cast<double>(config_.roi.sample) * config_.roi.sample_positive);
  }
  // The map of each row's own class only: logits [M, 28, 28].
  at::Tensor mask_head(
      const Features& features, const at::Tensor& rois, const at::Tensor& roi_image, const at::Tensor& label) const;
  at::Tensor pooled(const Features& features, const at::Tensor& rois, const at::Tensor& roi_image, int size) const;
  kernels::BoxCoderParams coder() const;

  const ModelConfig& config_;
  const DetectionOps& ops_;
  Parameter *fc6_, *fc6_bias_, *fc7_, *fc7_bias_, *cls_, *cls_bias_, *box_, *box_bias_;
  std::vector<Conv> mask_convs_;
  Parameter *deconv_, *deconv_bias_, *mask_logits_, *mask_logits_bias_;
};

}  // namespace ttt::model
