#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "measure/operation_arm.h"
#include "measure/tensors.h"
#include "models/mask_rcnn/config.h"

namespace ttt::ablations {
namespace {

// A residual block's work (two times 3x3 convolution, batch normalisation, ReLU), forward and backward, in ATen's own
// operators, which take both formats. [N, C, S / 4, S / 4] with the recipe's images a rank, stem width and image side.
class Block {
 public:
  Block(const Bench& bench, at::MemoryFormat format) : device_(accelerator_of(bench).device) {
    const train::Recipe& r = bench.recipe;
    const std::int64_t n = images_of_rank(bench), c = r.model.as<model::ModelConfig>().backbone.width,
                       side = r.data.short_side / 4;
    const auto made = [&](at::IntArrayRef shape, std::uint64_t seed, double scale = 1) {
      return (normal_tensor(shape, seed) * scale).contiguous(format).to(device_);
    };
    const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(device_);
    x_ = made({n, c, side, side}, 1).requires_grad_();
    for (std::uint64_t i = 0; i < 2; ++i) {
      weight_[i] = made({c, c, 3, 3}, 2 + i, 0.05).requires_grad_();
      scale_[i] = at::ones({c}, options).requires_grad_(), shift_[i] = at::zeros({c}, options).requires_grad_();
    }
    upstream_ = made({n, c, side, side}, 9);
  }
  void step() {
    x_.mutable_grad().reset();
    at::Tensor y = x_;
    for (int i = 0; i < 2; ++i) {
      for (at::Tensor* t : {&weight_[i], &scale_[i], &shift_[i]}) t->mutable_grad().reset();
      y = at::batch_norm(
          at::conv2d(y, weight_[i], {}, 1, 1), scale_[i], shift_[i], {}, {}, /*training=*/true, 0.1, 1e-5, false)
              .relu();
    }
    y.backward(upstream_);
    y_ = y;
    wait_for(x_.grad());
  }
  std::string device() const { return device_.str(); }
  std::vector<double> outputs() const {
    return {signature(y_), signature(x_.grad()), signature(weight_[0].grad()), signature(weight_[1].grad())};
  }

 private:
  at::Device device_;
  at::Tensor x_, y_, upstream_, weight_[2], scale_[2], shift_[2];
};

Variant variant(const char* name, at::MemoryFormat format) {
  return {.name = name, .arm = [name, format](const Bench& bench) -> std::unique_ptr<Arm> {
            const auto block = std::make_shared<Block>(bench, format);
            return std::make_unique<OperationArm>(
                bench, Operation{.description = {{"memory_format", name}, {"device", block->device()}},
                           .run = [block](std::int64_t) { block->step(); },
                           .outputs = [block] { return block->outputs(); }});
          }};
}

}  // namespace

Ablation ablate_channels_last() {
  return {.name = "channels_last",
      .question = "In which order should activations lie in memory: channels last, or each channel's plane by itself?",
      .claim = "none known",
      .expectation =
          "Libraries convolve in blocks of channels: with channels last nothing is reordered before and after, and "
          "normalisation and "
          "RoIAlign read neighbouring channels.",
      .promise = Promise::kClose,
      .rtol = 1e-4,  // the same sums in another order, over up to a million pixels
      .variants = {variant("NCHW", at::MemoryFormat::Contiguous),
          variant("channels last", at::MemoryFormat::ChannelsLast)},
      .settings = {{.name = "first stage of the recipe"},
          {.name = "first stage of ResNet-50, 2 images of 320", .change = [](train::Recipe& r) {
             r.train.global_batch = 0, r.train.images_per_rank = 2,
             r.model.as<model::ModelConfig>().backbone.width = 64, r.data.short_side = 320;
           }}}};
}

}  // namespace ttt::ablations
