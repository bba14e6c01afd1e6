#include "models/mask_rcnn/mask_rcnn.h"

#include <ATen/core/grad_mode.h>

#include "core/error.h"
#include "models/autocast.h"
#include "models/host_count.h"

namespace ttt::model {
namespace {

comm::Communicator* used(const ModelConfig& config, comm::Communicator* sync) {
  return sync && sync->size() > 1 && (config.loss_mean == "global" || config.backbone.norm == "sync") ? sync : nullptr;
}

ShareCount share_of(const ModelConfig& config, comm::Communicator* sync) {
  if (config.loss_mean == "rank" || !sync) return [](const at::Tensor& count) { return count; };
  // Gradients are averaged over ranks afterwards, so the shared count is the mean over ranks too.
  return [sync](const at::Tensor& count) {
    const at::Tensor sum = count.to(at::kDouble);
    sync->all_reduce_sum(sum.mutable_data_ptr<double>(), 1);
    return (sum / sync->size()).to(count.scalar_type());
  };
}

}  // namespace

// What the stretches of the heads hand to each other.
struct MaskRcnn::HeadsPass {
  HeadsPass(const at::Device& device, std::pmr::memory_resource* memory) : positives(device, memory) {}
  Pyramid features;
  RpnOutput rpn;
  Rpn::TrainingSample anchors;
  RoiSample rois;
  Features shared;
  std::vector<at::Tensor> losses;
  HostCount positives;
  std::int64_t mask_branch_rows = 0;
};

MaskRcnn::MaskRcnn(const ModelConfig& config, DetectionOps ops, std::uint64_t seed, const at::Device& device,
    comm::Communicator* sync, std::pmr::memory_resource* memory)
    : config_(config), device_(device), ops_(std::move(ops)), sync_(used(config, sync)), memory_(memory), store_(seed),
      share_(share_of(config, sync_)), backbone_(store_, NormContext{config_.backbone, ops_, sync}),
      rpn_(store_, config_, ops_), heads_(store_, config_, ops_) {
  if (config_.classes < 2)
    throw UsageError(
        "model.classes = " + std::to_string(config_.classes) + ": give at least one class and the background.");
  store_.finalise(device);
}

std::string MaskRcnn::not_capturable() const {
  if (!sync_) return "";
  if (!sync_->on_device()) return "ranks exchange counts or statistics through the host (" + sync_->name() + ")";
  return config_.shapes == "quarters" && config_.loss_mean == "global"
             ? "ranks exchange counts in a pass of which each chooses its own form (model.shapes = \"quarters\")"
             : "";
}

Pyramid MaskRcnn::features(const at::Tensor& images) const {
  const Autocast mixed(device_, config_.precision);
  return backbone_(images, true);
}

std::vector<Section> MaskRcnn::sections() const {
  using Tensors = std::vector<at::Tensor>;
  const auto backbone = [this](const Tensors&, const DeviceBatch& batch) {
    const Pyramid levels = features(batch.images);
    return Tensors(levels.begin(), levels.end());
  };
  const auto pyramid = [](const Tensors& inputs) {
    Pyramid levels;
    std::copy(inputs.begin(), inputs.end(), levels.begin());
    return levels;
  };
  if (config_.shapes != "quarters") {
    const auto heads = [this, pyramid](
                           const Tensors& inputs, const DeviceBatch& b) { return training_losses(pyramid(inputs), b); };
    return {{"backbone", backbone}, {"heads", heads}};
  }
  // The number of positives travels while the device works on the boxes, so it need not wait for the host.
  const auto pass = std::make_shared<HeadsPass>(device_, memory_);
  const auto proposals = [this, pass, pyramid](const Tensors& inputs, const DeviceBatch& batch) {
    propose(*pass, pyramid(inputs), batch);
    return Tensors();
  };
  const auto boxes = [this, pass](const Tensors&, const DeviceBatch& batch) {
    box_losses(*pass, batch);
    return Tensors();
  };
  const auto masks = [this, pass](const Tensors&, const DeviceBatch& batch) { return mask_loss(*pass, batch); };
  return {{"backbone", backbone}, {.name = "proposals", .run = proposals, .after = [pass] { pass->positives.mark(); }},
      {.name = "boxes", .run = boxes, .joined = true},
      {.name = "masks", .run = masks, .joined = true, .form = [this, pass] { return mask_branch_rows(*pass); }}};
}

std::string MaskRcnn::layer_group(const std::string& parameter) const {
  static constexpr std::pair<const char*, const char*> kGroups[] = {{"backbone.body.layer1.", "layer1"},
      {"backbone.body.layer2.", "layer2"}, {"backbone.body.layer3.", "layer3"}, {"backbone.body.layer4.", "layer4"},
      {"backbone.body.", "stem"}, {"backbone.fpn.", "fpn"}, {"rpn.", "rpn"}, {"roi_heads.box_", "box_head"},
      {"roi_heads.mask_", "mask_head"}};
  for (const auto& [prefix, group] : kGroups)
    if (parameter.starts_with(prefix)) return group;
  return "other";
}

result::Json MaskRcnn::describe() const {
  return {{"classes", config_.classes}, {"shapes", config_.shapes}, {"precision", config_.precision},
      {"ops", ops_.name}, {"box_loss", {{"rpn", config_.rpn.box_loss}, {"roi", config_.roi.box_loss}}},
      {"box_loss_weight", {{"rpn", config_.rpn.box_loss_weight}, {"roi", config_.roi.box_loss_weight}}},
      {"box_weights", config_.roi.box_weights},
      {"label_smoothing", {{"rpn", config_.rpn.label_smoothing}, {"roi", config_.roi.label_smoothing}}},
      {"init", {{"backbone", config_.backbone.init}, {"heads", config_.roi.init}}}};
}

void MaskRcnn::propose(HeadsPass& pass, const Pyramid& features, const DeviceBatch& batch) const {
  const Autocast mixed(device_, config_.precision);
  pass.features = features;
  pass.rpn = rpn_(features, batch.images.size(2), batch.images.size(3));
  const at::NoGradGuard no_grad;
  pass.anchors = rpn_.sample(pass.rpn, batch);
  pass.rois = heads_.sample(rpn_.proposals(pass.rpn, batch.image_size, true), batch);
  if (config_.shapes == "quarters") pass.positives.copy(pass.rois.positives.sum(at::kInt));
}

void MaskRcnn::box_losses(HeadsPass& pass, const DeviceBatch& batch) const {
  const Autocast mixed(device_, config_.precision);
  pass.shared = ops_.share(pass.features);
  const auto [objectness, rpn_box] = rpn_.losses(pass.shared, pass.rpn, batch, pass.anchors, share_);
  const auto [classifier, box] = heads_.box_losses(pass.shared, batch, pass.rois, share_);
  pass.losses = {objectness, rpn_box, classifier, box};
}

std::int64_t MaskRcnn::mask_branch_rows(HeadsPass& pass) const {
  pass.mask_branch_rows = heads_.mask_branch_rows(pass.rois.positives.size(0), pass.positives.wait());
  return pass.mask_branch_rows;
}

std::vector<at::Tensor> MaskRcnn::mask_loss(HeadsPass& pass, const DeviceBatch& batch) const {
  const Autocast mixed(device_, config_.precision);
  std::vector<at::Tensor> losses = pass.losses;
  losses.push_back(heads_.mask_loss(pass.shared, batch, pass.rois, pass.mask_branch_rows, share_));
  return losses;
}

std::vector<at::Tensor> MaskRcnn::training_losses(
    const Pyramid& features, const DeviceBatch& batch, TrainingTrace* trace) const {
  HeadsPass pass(device_, memory_);
  propose(pass, features, batch);
  box_losses(pass, batch);
  if (config_.shapes == "quarters") pass.positives.mark(), mask_branch_rows(pass);
  if (trace) *trace = {.anchors = pass.anchors, .rois = pass.rois};
  return mask_loss(pass, batch);
}

Prediction MaskRcnn::predict(const DeviceBatch& batch) const {
  at::NoGradGuard no_grad;
  const Autocast mixed(device_, config_.precision);
  const Features features{.map = backbone_(batch.images, false)};
  const RpnOutput rpn = rpn_(features.map, batch.images.size(2), batch.images.size(3));
  Prediction p;
  p.detected = heads_.detect(features, rpn_.proposals(rpn, batch.image_size, false), batch);
  p.masks = heads_.masks(features, batch, p.detected);
  return p;
}

}  // namespace ttt::model
