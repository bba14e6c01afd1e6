#include "models/mask_rcnn/backbone.h"

#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "core/error.h"

namespace ttt::model {

ResidualBlock::ResidualBlock(ParameterStore& store, const std::string& name, const NormContext& context,
    std::int64_t in, std::int64_t width, std::int64_t stride, bool trainable) {
  const BackboneConfig& config = context.config;
  const auto add = [&](int i, ConvShape s) {
    const std::string n = std::to_string(i);
    path_.emplace_back(store, name + ".conv" + n, name + ".bn" + n, s, context, trainable);
  };
  if (config.block == "basic") {
    out_ = width;
    add(1, {in, width, 3, stride});
    add(2, {width, out_, 3, 1});
  } else {
    out_ = width * 4;
    add(1, {in, width, 1, config.stride_in_1x1 ? stride : 1});
    add(2, {width, width, 3, config.stride_in_1x1 ? 1 : stride});
    add(3, {width, out_, 1, 1});
  }
  if (stride != 1 || in != out_)
    shortcut_.emplace_back(
        store, name + ".downsample.0", name + ".downsample.1", ConvShape{in, out_, 1, stride}, context, trainable);
}

at::Tensor ResidualBlock::operator()(const at::Tensor& x, bool training) const {
  at::Tensor y = x;
  for (std::size_t i = 0; i + 1 < path_.size(); ++i) y = path_[i](y, training, true);
  return path_.back()(y, training, true, shortcut_.empty() ? x : shortcut_[0](x, training, false));
}

Backbone::Backbone(ParameterStore& store, const NormContext& context) : ops_(&context.ops) {
  const BackboneConfig& config = context.config;
  if (config.blocks.size() != 4)
    throw UsageError("model.backbone.blocks has " + std::to_string(config.blocks.size()) +
                     " numbers: give four, one for each stage.");
  stem_ = ConvNorm(
      store, "backbone.body.conv1", "backbone.body.bn1", {3, config.width, 7, 2}, context, config.freeze_at < 1);
  std::vector<std::int64_t> channels;
  std::int64_t in = config.width;
  for (int stage = 0; stage < 4; ++stage) {
    auto& blocks = stages_.emplace_back();
    for (std::int64_t b = 0; b < config.blocks[stage]; ++b) {
      const std::string name = "backbone.body.layer" + std::to_string(stage + 1) + "." + std::to_string(b);
      blocks.emplace_back(
          store, name, context, in, config.width << stage, b == 0 && stage > 0 ? 2 : 1, config.freeze_at < stage + 2);
      in = blocks.back().out_channels();
    }
    channels.push_back(in);
  }
  const std::int64_t c = config.fpn_channels;
  for (int i = 0; i < 4; ++i)  // the variance of fan in, gain 1: torchvision's and Detectron's a = 1
    lateral_.emplace_back(store, "backbone.fpn.inner_blocks." + std::to_string(i) + ".0",
        ConvShape{channels[i], c, 1, 1}, uniform(kaiming_uniform_bound(channels[i], 1)), true);
  for (int i = 0; i < 4; ++i)
    output_.emplace_back(store, "backbone.fpn.layer_blocks." + std::to_string(i) + ".0", ConvShape{c, c, 3, 1},
        uniform(kaiming_uniform_bound(c * 9, 1)), true);
}

Pyramid Backbone::operator()(const at::Tensor& images, bool training) const {
  at::Tensor x = stem_.pooled(images, training);
  std::array<at::Tensor, 4> stage;
  for (int i = 0; i < 4; ++i) {
    for (const ResidualBlock& block : stages_[i]) x = block(x, training);
    stage[i] = x;
  }
  Pyramid pyramid;
  at::Tensor top;
  for (int i = 3; i >= 0; --i) {
    const at::Tensor above = top.defined() ? at::upsample_nearest2d(top, stage[i].sizes().slice(2)) : at::Tensor();
    top = lateral_[i].biased(*ops_, stage[i], false, above);
    pyramid[i] = output_[i].biased(*ops_, top, false);
  }
  pyramid[4] = at::max_pool2d(pyramid[3], {1, 1}, {2, 2}, {0, 0});
  return pyramid;
}

}  // namespace ttt::model
