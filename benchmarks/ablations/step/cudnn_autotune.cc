#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>

#include "measure/operation_arm.h"
#include "measure/own_thread.h"
#include "measure/tensors.h"
#include "measure/train_arm.h"

namespace ttt::ablations {
namespace {

// Among all algorithms: the deterministic ones alone are no choice that a user who tunes would make.
Variant autotune(const char* name, bool on) {
  return {.name = name,
      .change = [on](train::Recipe& r) { r.train.cudnn_autotune = on, r.train.cudnn_deterministic = false; }};
}

// How a step calls the convolution: with a shape whose plan is known, on a thread that knows no plan, or with a shape
// that this side never had.
enum class Calls { kKnown, kFirst, kNewShapes };

// The convolution of which a gain is published: 64 filters 3x3 on 32x64x64x64, forward and both gradients. By its
// operators, not by autograd, whose threads keep plans of their own.
class PublishedConvolution {
 public:
  PublishedConvolution(const Bench& bench, Calls calls) : recipe_(bench.recipe), calls_(calls) {
    recipe_.train.threads = threads_of_rank(bench.recipe.train.threads, bench.world.team());
    const at::Device device = accelerator_of(bench).device;
    const std::int64_t largest = calls == Calls::kNewShapes ? kSide + kSides - 1 : kSide;
    const auto on_device = [&](at::IntArrayRef shape, std::uint64_t seed) {
      return normal_tensor(shape, seed).contiguous(at::MemoryFormat::ChannelsLast).to(device);
    };
    x_ = on_device({kImages, kFilters, largest, largest}, 1),
    upstream_ = on_device({kImages, kFilters, largest, largest}, 2);
    weight_ = on_device({kFilters, kFilters, 3, 3}, 3) * 0.05;
  }

  void step(std::int64_t number) {
    set_process(recipe_);  // the other side wants it otherwise
    switch (calls_) {
      case Calls::kKnown: return convolve(kImages, kSide, kSide);
      case Calls::kFirst: return WorkThread().run([this] { convolve(kImages, kSide, kSide); });
      // All different for kSides^2 x 8 steps of a build, many times what a build has.
      case Calls::kNewShapes:
        return convolve(
            kImages - number / (kSides * kSides) % 8, kSide + number % kSides, kSide + number / kSides % kSides);
    }
  }
  std::vector<double> outputs() const {
    return {signature(y_), signature(gradient_of_x_), signature(gradient_of_weight_)};
  }
  result::Json describe() const {
    constexpr const char* kNames[] = {"of a known shape", "first of its shape on its thread", "of a new shape"};
    return {{"convolution", "64 filters 3x3 on 32x64x64x64"}, {"call", kNames[static_cast<int>(calls_)]},
        {"cudnn_autotune", recipe_.train.cudnn_autotune}};
  }

 private:
  static constexpr std::int64_t kImages = 32, kFilters = 64, kSide = 64, kSides = 16;

  void convolve(std::int64_t images, std::int64_t height, std::int64_t width) {
    const at::NoGradGuard no_grad;
    const auto part = [&](const at::Tensor& t) {
      return t.narrow(0, 0, images).narrow(2, 0, height).narrow(3, 0, width).contiguous(at::MemoryFormat::ChannelsLast);
    };
    const at::Tensor x = part(x_);
    y_ = at::conv2d(x, weight_, {}, 1, 1);
    std::tie(gradient_of_x_, gradient_of_weight_, std::ignore) = at::convolution_backward(
        part(upstream_), x, weight_, std::nullopt, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1, {true, true, false});
    wait_for(gradient_of_weight_);
  }

  train::Recipe recipe_;
  Calls calls_;
  at::Tensor x_, weight_, upstream_, y_, gradient_of_x_, gradient_of_weight_;
};

Setting convolution(const char* name, Calls calls) {
  return {.name = name, .arm = [calls](const Bench& bench) -> std::unique_ptr<Arm> {
            return std::make_unique<OwnThreadArm>([&] {
              const auto c = std::make_shared<PublishedConvolution>(bench, calls);
              return std::make_unique<OperationArm>(bench, Operation{.description = c->describe(),
                                                               .run = [c](std::int64_t number) { c->step(number); },
                                                               .outputs = [c] { return c->outputs(); }});
            });
          }};
}

// With its backward on the side's thread, where there is no other plan than its own.
std::unique_ptr<Arm> training(const Bench& bench) {
  return std::make_unique<OwnThreadArm>(
      [&] { return std::make_unique<TrainArm>(bench, Variant{.name = "training"}, bench.world.team()); });
}

}  // namespace

Ablation ablate_cudnn_autotune() {
  return {.name = "cudnn_autotune",
      .question =
          "What does it bring to let cuDNN time its algorithms, and what do the first step and every new shape pay?",
      .claim = "A forward convolution of 64 filters 3x3 on 32x64x64x64 falls from 1430 to 840 us.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Faster convolutions where shapes are known; a first call, and every new shape, pays for timing all "
          "algorithms of three convolutions.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // another algorithm of a convolution adds in another order
      .variants = {autotune("off", false), autotune("on", true)},
      .settings = {{.name = "training step", .arm = training},
          convolution("64 filters 3x3 on 32x64x64x64", Calls::kKnown),
          convolution("64 filters 3x3 on 32x64x64x64, its first call", Calls::kFirst),
          convolution("64 filters 3x3, a new shape in every step", Calls::kNewShapes)},
      .unsupported = needs_cuda};
}

}  // namespace ttt::ablations
