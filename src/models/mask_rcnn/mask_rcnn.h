// Mask R-CNN (He et al. 2017) with fixed shapes.
#pragma once

#include <memory_resource>

#include "models/mask_rcnn/roi_heads.h"
#include "models/mask_rcnn/rpn.h"
#include "models/model.h"

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

class MaskRcnn final : public Model {
 public:
  // `sync` serves norm = sync and loss_mean = global, and reduces memory of `device`; null: a single rank. `memory`: of
  // the host, to which the device copies without the host waiting; outlives the model.
  MaskRcnn(const ModelConfig& config, DetectionOps ops, std::uint64_t seed, const at::Device& device,
      comm::Communicator* sync, std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

  // In the order of kLossNames.
  std::vector<at::Tensor> training_losses(const DeviceBatch& batch, TrainingTrace* trace = nullptr) const {
    return training_losses(features(batch.images), batch, trace);
  }
  Prediction predict(const DeviceBatch& batch) const;

  ParameterStore& parameters() override { return store_; }
  const ParameterStore& parameters() const { return store_; }
  const ModelConfig& config() const { return config_; }
  const std::vector<std::string>& loss_names() const override { return kLossNames; }
  // backbone and heads. Of shapes = "quarters" the heads are three: proposals, boxes and masks, which have a form for
  // each quarter.
  std::vector<Section> sections() const override;
  bool buffers_per_rank() const override { return config_.backbone.norm == "batch"; }
  const DetectionOps& ops() const { return ops_; }
  std::string not_capturable() const override;  // where ranks exchange numbers through the host within a pass
  std::string layer_group(const std::string& parameter) const override;  // stem, layer1, ..., mask_head
  result::Json describe() const override;

 private:
  struct HeadsPass;
  Pyramid features(const at::Tensor& images) const;
  void propose(HeadsPass& pass, const Pyramid& features, const DeviceBatch& batch) const;
  void box_losses(HeadsPass& pass, const DeviceBatch& batch) const;
  std::int64_t mask_branch_rows(HeadsPass& pass) const;  // the host waits for the number of positives
  std::vector<at::Tensor> mask_loss(HeadsPass& pass, const DeviceBatch& batch) const;  // and all losses before it
  std::vector<at::Tensor> training_losses(
      const Pyramid& features, const DeviceBatch& batch, TrainingTrace* trace = nullptr) const;

  ModelConfig config_;
  at::Device device_;
  DetectionOps ops_;
  comm::Communicator* sync_;  // null where the ranks exchange nothing within a pass
  std::pmr::memory_resource* memory_;
  ParameterStore store_;
  ShareCount share_;
  Backbone backbone_;
  Rpn rpn_;
  RoiHeads heads_;
};

}  // namespace ttt::model
