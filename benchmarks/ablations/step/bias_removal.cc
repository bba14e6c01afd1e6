#include <ATen/ops/conv2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "measure/operation_arm.h"
#include "measure/tensors.h"
#include "models/mask_rcnn/config.h"

namespace ttt::ablations {
namespace {

// One 3x3 convolution and the normalisation after it, forward and backward. [N, C, S / 4, S / 4] with the recipe's
// images a rank, stem width and image side, which is the shape of the first residual stage.
class ConvNorm {
 public:
  ConvNorm(const Bench& bench, bool bias) : accelerator_(accelerator_of(bench)) {
    const train::Recipe& r = bench.recipe;
    const std::int64_t n = images_of_rank(bench), c = r.model.as<model::ModelConfig>().backbone.width,
                       side = r.data.short_side / 4;
    const auto on_device = [&](const at::Tensor& t) {
      return t.contiguous(at::MemoryFormat::ChannelsLast).to(accelerator_.device);
    };
    x_ = on_device(normal_tensor({n, c, side, side}, 1)).requires_grad_();
    weight_ = on_device(normal_tensor({c, c, 3, 3}, 2) * 0.05).requires_grad_();
    const at::TensorOptions options = x_.options().requires_grad(false);
    if (bias) bias_ = at::full({c}, 0.1, options).requires_grad_();
    scale_ = at::ones({c}, options).requires_grad_(), shift_ = at::full({c}, 0.0, options).requires_grad_();
    upstream_ = on_device(normal_tensor({n, c, side, side}, 3));
  }
  void step() {
    for (at::Tensor* t : {&x_, &weight_, &bias_, &scale_, &shift_})
      if (t->defined()) t->mutable_grad().reset();
    const at::Tensor y = at::conv2d(x_, weight_, bias_, 1, 1);
    z_ = accelerator_.ops.batch_norm(y, scale_, shift_, {}, 1e-5, true, nullptr).y;
    z_.backward(upstream_);
    wait_for(x_.grad());
  }
  std::string device() const { return accelerator_.device.str(); }
  std::vector<double> outputs() const { return {signature(z_), signature(x_.grad()), signature(weight_.grad())}; }

 private:
  train::Accelerator accelerator_;
  at::Tensor x_, weight_, bias_, scale_, shift_, upstream_, z_;
};

Variant variant(const char* name, bool bias) {
  return {.name = name, .arm = [bias](const Bench& bench) -> std::unique_ptr<Arm> {
            const auto op = std::make_shared<ConvNorm>(bench, bias);
            return std::make_unique<OperationArm>(
                bench, Operation{.description = {{"convolution", bias ? "3x3 with bias" : "3x3"}, {"norm", "batch"},
                                     {"device", op->device()}},
                           .run = [op](std::int64_t) { op->step(); },
                           .outputs = [op] { return op->outputs(); }});
          }};
}

}  // namespace

Ablation ablate_bias_removal() {
  return {.name = "bias_removal",
      .question = "What does the bias of a convolution cost that a normalisation takes away again?",
      .claim = "A bias before a normalisation can go: kernels are saved, accuracy is kept; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "The bias itself is fused into the convolution; its gradient, which is zero but for rounding, is one "
          "more sum over all pixels.",
      .promise = Promise::kClose,
      .rtol = 1e-4,  // a normalised value of order 1 loses a few roundings of y + 0.1; a signature averages them
      .variants = {variant("with bias", true), variant("without", false)},
      .settings = {{.name = "first stage of the recipe"},
          {.name = "64 filters 3x3 on 32x64x64x64", .change = [](train::Recipe& r) {
             r.train.global_batch = 0, r.train.images_per_rank = 32,
             r.model.as<model::ModelConfig>().backbone.width = 64, r.data.short_side = 256;
           }}}};
}

}  // namespace ttt::ablations
