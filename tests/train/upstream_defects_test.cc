// Defects of published code for this benchmark. Each is a promise, kept here, that a planted copy of the defect breaks.
// Found in: SageMakerCV (1), NVIDIA's MLPerf v2.0 (2), its Lightning port (3, 4), SageMakerCV (5), NVIDIA's MLPerf v3.1
// (6). The copies are written anew from a description; they are the mistake, not the code.
#include <ATen/ops/allclose.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "models/mask_rcnn/box_losses/box_loss.h"
#include "train/optimizers/sgd.h"
#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

// 1. The overlap of disjoint boxes. Sides are taken as absolute values before they are clamped, so that boxes far apart
// overlap: at a gap of their own size as much as if they were one.

using BoxLoss = std::function<at::Tensor(const at::Tensor& box, const at::Tensor& target)>;  // [4], [4] -> scalar

// And is above 1: a GIoU below 0.
bool pulls_together(const BoxLoss& loss) {
  const at::Tensor box = at::tensor({0.0, 0.0, 10.0, 10.0}, at::kDouble).requires_grad_(),
                   target = at::tensor({20.0, 20.0, 30.0, 30.0}, at::kDouble);
  const at::Tensor value = loss(box, target);
  value.backward();
  const at::Tensor moved = box.detach() - 0.1 * box.grad() / box.grad().abs().max();
  return value.item<double>() > 1 && loss(moved, target).item<double>() < value.item<double>();
}

at::Tensor our_giou(const at::Tensor& box, const at::Tensor& target) {
  // deltas that a coder of weights 1 decodes to `box`, from a reference of side 10 about the origin
  const at::Tensor reference = at::tensor({-5.0, -5.0, 5.0, 5.0}, at::kDouble);
  const auto side = [&](int i) { return box.select(0, i + 2) - box.select(0, i); };
  const auto middle = [&](int i) { return (box.select(0, i + 2) + box.select(0, i)) / 2; };
  const at::Tensor deltas =
      at::stack({middle(0) / 10, middle(1) / 10, (side(0) / 10).log(), (side(1) / 10).log()}).view({1, 4});
  return model::box_loss_sum("giou", 1,
      {.deltas = deltas,
          .target_deltas = {},
          .reference = reference.view({1, 4}),
          .target = target.view({1, 4}),
          .weight = at::ones({1}, at::kDouble),
          .beta = 0,
          .coder = {}});
}

at::Tensor planted_giou(const at::Tensor& box, const at::Tensor& target) {
  const auto area = [](const at::Tensor& b) { return (b[2] - b[0]) * (b[3] - b[1]); };
  const at::Tensor low = at::maximum(box.slice(0, 0, 2), target.slice(0, 0, 2)),
                   high = at::minimum(box.slice(0, 2, 4), target.slice(0, 2, 4));
  const at::Tensor sides = (high - low).abs().clamp_min(0);  // the mistake
  const at::Tensor overlap = sides[0] * sides[1], joint = area(box) + area(target) - overlap;
  const at::Tensor hull =
      at::maximum(box.slice(0, 2, 4), target.slice(0, 2, 4)) - at::minimum(box.slice(0, 0, 2), target.slice(0, 0, 2));
  const at::Tensor whole = hull[0] * hull[1];
  return 1 - overlap / joint + (whole - joint) / whole;
}

TEST(UpstreamDefects, DisjointBoxesOverlap) {
  EXPECT_TRUE(pulls_together(our_giou));
  EXPECT_FALSE(pulls_together(planted_giou));
}

// 2. A loss scale that never grows: the counter of good steps is written as a constant.

struct Scale {
  std::function<void(bool overflow)> update;
  std::function<double()> value;
};

bool grows_and_shrinks(const Scale& scale, int interval) {
  const double first = scale.value();
  scale.update(true);
  if (scale.value() != first / 2) return false;
  for (int i = 0; i < interval; ++i) scale.update(false);
  return scale.value() == first;
}

TEST(UpstreamDefects, LossScaleNeverGrows) {
  constexpr int kInterval = 1000;
  LossScaler ours({.initial = 65536, .interval = kInterval}, at::kCPU);
  EXPECT_TRUE(grows_and_shrinks({.update = [&](bool overflow) { ours.clear_found().fill_(overflow), ours.update(); },
                                    .value = [&] { return ours.scale().item<double>(); }},
      kInterval));
  double value = 65536;
  const std::int64_t iteration = 0, last_overflow = -1;
  const auto planted = [&](bool overflow) {
    if (overflow) value /= 2;
    else if ((iteration - last_overflow) % kInterval == 0) value *= 2;  // the mistake: neither ever changes
  };
  EXPECT_FALSE(grows_and_shrinks({.update = planted, .value = [&] { return value; }}, kInterval));
}

// 3. A stop that is ignored: tests/train/runs.py, of whole runs.

// 4. Clipping of scaled gradients: the norm that is allowed then depends on the loss scale.

using Update = std::function<void(const at::Tensor& gradient, double loss_scale, const at::Tensor& weight)>;
constexpr double kRate = 0.5, kClip = 3;

bool clips_unscaled_gradients(const Update& update) {
  const at::Tensor gradient = at::tensor({6.0, -8.0}, at::kFloat);  // of norm 10: three tenths are left of it
  bool all = true;
  for (const double loss_scale : {1.0, 4096.0}) {
    const at::Tensor weight = at::zeros({2}, at::kFloat);
    update(gradient * loss_scale, loss_scale, weight);
    all &= at::allclose(weight, -kRate * 0.3 * gradient, 1e-6);
  }
  // a norm below is left alone, of a scaled gradient too
  const at::Tensor weight = at::zeros({2}, at::kFloat);
  update(gradient * 0.1 * 4096, 4096, weight);
  return all && at::allclose(weight, -kRate * 0.1 * gradient, 1e-6);
}

void our_update(const at::Tensor& gradient, double loss_scale, const at::Tensor& weight) {
  constexpr double kRanks = 4;  // gradients are summed over them
  model::ParameterStore store(1);
  store.add("weight", {2}, model::constant(0));
  store.finalise(at::kCPU);
  LossScaler scaler({.initial = loss_scale}, at::kCPU);
  FusedSgd sgd(store, {.momentum = 0, .weight_decay = 0, .clip_norm = kClip}, {}, &scaler);
  store.flat_gradients().narrow(0, 0, 2).copy_(gradient * kRanks);
  sgd.step(rates_on_host(kRate, 1 / kRanks));
  weight.copy_(store.flat_values().narrow(0, 0, 2));
}

void planted_update(const at::Tensor& gradient, double loss_scale, const at::Tensor& weight) {
  const double norm = at::linalg_vector_norm(gradient).item<double>();  // the mistake: of the scaled gradient
  weight.sub_(gradient * std::min(1.0, kClip / norm) / loss_scale, kRate);
}

TEST(UpstreamDefects, ScaledGradientsAreClipped) {
  EXPECT_TRUE(clips_unscaled_gradients(our_update));
  EXPECT_FALSE(clips_unscaled_gradients(planted_update));
}

// 5. A warm-up that gives every group the same rate, so that the biases' jumps when it ends.

using Rate = std::function<double(std::int64_t iteration, bool bias)>;
constexpr double kBiasFactor = 2;

bool keeps_ratios(const Rate& rate) {
  for (std::int64_t i = 1; i <= 30; ++i)
    if (std::abs(rate(i, true) / rate(i, false) - kBiasFactor) > 1e-12) return false;
  return true;
}

// The rate that a parameter feels: how far a gradient of 1 moves it.
double felt_rate(const Schedule& schedule, std::int64_t iteration, bool bias) {
  model::ParameterStore store(1);
  const std::string name = bias ? "a.bias" : "a.weight";
  store.add(name, {1}, model::constant(0));
  store.finalise(at::kCPU);
  FusedSgd sgd(store, {.momentum = 0, .weight_decay = 0, .bias_lr_factor = kBiasFactor});
  store.flat_gradients().narrow(0, 0, 1).fill_(1);
  sgd.step(rates_on_host(schedule.lr(iteration), 1));
  return -store.flat_values()[0].item<double>();
}

TEST(UpstreamDefects, WarmUpDropsGroupRatios) {
  for (const char* kind : {"step_decay", "cosine", "linear", "poly"}) {
    // powers of two, so that float32 rounds no rate by itself
    const auto schedule = make_schedule({.kind = kind, .lr = 0.5, .warmup_steps = 16}, {.total_steps = 48});
    EXPECT_TRUE(keeps_ratios([&](std::int64_t i, bool bias) { return felt_rate(*schedule, i, bias); })) << kind;
  }
  EXPECT_FALSE(keeps_ratios([](std::int64_t i, bool bias) {
    const double full = 0.5 * (bias ? kBiasFactor : 1);
    return i < 16 ? 0.5 * static_cast<double>(i) / 16 : full;  // the mistake: one rate for all groups
  }));
}

// 6. A decay one iteration late: step <= milestone instead of bisect_right.

bool decays_at_its_iteration(const std::function<double(std::int64_t iteration)>& rate) {
  return rate(9) == 1 && rate(10) == 0.1 && rate(19) == 0.1 && std::abs(rate(20) - 0.01) < 1e-15;
}

TEST(UpstreamDefects, MilestoneIsOffByOne) {
  const auto schedule =
      make_schedule({.lr = 1, .warmup_steps = 0, .decay_steps = {10, 20}, .decay_factor = 0.1}, {.total_steps = 30});
  EXPECT_TRUE(decays_at_its_iteration([&](std::int64_t i) { return schedule->lr(i); }));
  EXPECT_FALSE(decays_at_its_iteration([](std::int64_t i) { return i <= 10 ? 1 : i <= 20 ? 0.1 : 0.01; }));
}

}  // namespace
}  // namespace ttt::train
