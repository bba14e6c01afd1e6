// Mask R-CNN (He et al. 2017) with fixed shapes.
#pragma once

#include "models/mask_rcnn/roi_heads.h"
#include "models/mask_rcnn/rpn.h"

namespace ttt::model {

// What a training forward chose, for comparisons with other implementations.
struct TrainingTrace {
  Rpn::TrainingSample anchors;
  RoiSample rois;
};

struct Prediction {
  Detected detected;
  at::Tensor masks;  // [M, 28, 28] probabilities, M = sum of detected.count
};

class MaskRcnn {
 public:
  // `sync` serves norm = sync and loss_mean = global, and reduces memory of `device`; null: a single rank.
  MaskRcnn(const ModelConfig& config, DetectionOps ops, std::uint64_t seed, const at::Device& device, comm::Communicator* sync);

  Losses training_losses(const DeviceBatch& batch, TrainingTrace* trace = nullptr) const {
    return training_losses(features(batch.images), batch, trace);
  }
  // Its two halves, for a step that does something between them.
  Pyramid features(const at::Tensor& images) const;
  Losses training_losses(const Pyramid& features, const DeviceBatch& batch, TrainingTrace* trace = nullptr) const;
  Prediction predict(const DeviceBatch& batch) const;

  ParameterStore& parameters() { return store_; }
  const ParameterStore& parameters() const { return store_; }
  const ModelConfig& config() const { return config_; }
  // Whether each rank's running statistics are its own.
  bool buffers_per_rank() const { return config_.backbone.norm == "batch"; }
  const DetectionOps& ops() const { return ops_; }
  // Why a training pass cannot be recorded and replayed on a device: ranks exchange numbers through the host within it. "" where it can.
  std::string not_capturable() const;

 private:
  ModelConfig config_;
  at::Device device_;
  DetectionOps ops_;
  comm::Communicator* sync_;  // null where the ranks exchange nothing within a pass
  ParameterStore store_;
  ShareCount share_;
  Backbone backbone_;
  Rpn rpn_;
  RoiHeads heads_;
};

}  // namespace ttt::model
