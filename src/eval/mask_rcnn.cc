#include "eval/mask_rcnn.h"

#include "core/error.h"
#include "eval/detection_evaluator.h"
#include "eval/detection_gallery.h"

namespace ttt::eval {
namespace {

const model::ModelConfig& config_of(const result::AnyGroup& settings) { return settings.as<model::ModelConfig>(); }

class MaskRcnnWorkload final : public Workload {
 public:
  result::AnyGroup settings() const override { return model::ModelConfig(); }
  result::AnyGroup targets() const override { return DetectionTargets(); }
  result::Metrics target(const result::AnyGroup& targets) const override {
    const auto& t = targets.as<DetectionTargets>();
    return {{"bbox_ap", t.target_box_ap}, {"segm_ap", t.target_mask_ap}};
  }
  std::string precision(const result::AnyGroup& settings) const override { return config_of(settings).precision; }

  void check(
      const result::AnyGroup& settings, const data::DataSettings& data, const std::string& device) const override {
    const model::ModelConfig& config = config_of(settings);
    if (config.rpn.match_low > config.rpn.match_high)
      throw UsageError(
          "model.rpn.match_low is above model.rpn.match_high: an anchor would be positive and negative. Lower the one "
          "or raise the other.");
    if (device != "cpu" && config.backbone.norm == "sync" && data.padding == "batch")
      throw UsageError("model.backbone.norm = \"sync\", data.padding = \"batch\" and device = \"" + device +
                       "\": the ranks' batches would differ in size, and the host does not wait for the device to add "
                       "them up. Choose data.padding = \"fixed\" or \"two\".");
  }

  void resolve(result::AnyGroup& settings, const data::ShardSet& images) const override {
    auto& config = settings.as<model::ModelConfig>();
    const auto in_data = static_cast<std::int64_t>(images.categories().size()) + 1;
    if (config.classes == 0) config.classes = in_data;
    if (config.classes < in_data)
      throw UsageError("model.classes = " + std::to_string(config.classes) + ", but the data set has " +
                       std::to_string(in_data - 1) + " categories: set it to " + std::to_string(in_data) + " or to 0.");
  }

  bool reads_bitmaps(const result::AnyGroup& settings) const override {
    return config_of(settings).roi.mask_target == "bitmap";
  }

  // Frozen, batch and synchronised norms have the same tensors: batch statistics train them.
  void match_backbone(result::AnyGroup& settings, const result::AnyGroup& run) const override {
    model::BackboneConfig& own = settings.as<model::ModelConfig>().backbone;
    const model::BackboneConfig& like = config_of(run).backbone;
    own.block = like.block, own.blocks = like.blocks, own.width = like.width, own.stride_in_1x1 = like.stride_in_1x1;
    if ((own.norm == "group") != (like.norm == "group")) own.norm = like.norm == "group" ? "group" : "batch";
    if (own.norm == "group") own.norm_groups = like.norm_groups;
  }

  std::unique_ptr<model::Model> make_model(ModelInputs inputs) const override {
    return std::make_unique<model::MaskRcnn>(
        config_of(inputs.settings), std::move(inputs.ops), inputs.seed, inputs.device, inputs.sync, inputs.memory);
  }
  std::unique_ptr<Evaluator> make_evaluator(const EvaluationInputs& inputs) const override {
    return std::make_unique<DetectionEvaluator>(inputs);
  }
  std::unique_ptr<Gallery> make_gallery(const EvaluationInputs& inputs, std::int64_t pictures) const override {
    return std::make_unique<DetectionGallery>(inputs, pictures);
  }
};

}  // namespace

const Workload& mask_rcnn() {
  static const MaskRcnnWorkload workload;
  return workload;
}

Detector detector_of(
    const model::ModelConfig& config, const data::ShardSet& images, const data::DataSettings& data, at::Device device) {
  Detector detector{.category_of = {}, .legacy_boxes = config.legacy_boxes, .device = device, .data = data};
  for (const ttt::coco::Category& c : images.categories()) detector.category_of.push_back(c.id);
  return detector;
}

}  // namespace ttt::eval
