// A training step on a device: asks it nothing, and with the device's kernels gives the bits that the host's give.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/device_double/device_double.h"
#include "tests/device_double/small_step.h"
#include "train/step.h"

namespace ttt {
namespace {

using test::small_model;

struct Variant {
  std::string name;
  std::function<void(model::ModelConfig&)> change;
  bool own_kernels = true;  // all that is not a convolution or a matrix product
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"torchvision", [](model::ModelConfig&) {}},
      {"mlperf",
       [](model::ModelConfig& c) {
         c.legacy_boxes = true, c.backbone.norm = "frozen", c.backbone.block = "bottleneck", c.backbone.stride_in_1x1 = true, c.rpn.drop_straddling = true;
         c.rpn.stride_from_grid = false, c.rpn.cut_over_batch = c.rpn.cut_per_level = true, c.roi.mask_target = "polygon", c.roi.init = "detectron";
       }},
      {"group_norm", [](model::ModelConfig& c) { c.backbone.norm = "group", c.backbone.norm_groups = 4; }, false},
  };
  return all;
}

struct Outcome {
  std::vector<float> losses;
  at::Tensor gradients, weights;  // on the CPU
  std::map<std::string, std::int64_t> reads;
};

Outcome steps_on(const at::Device& device, const model::ModelConfig& config, std::int64_t steps) {
  model::MaskRcnn net(config, test::ops_on(device), 5, device, nullptr);
  train::FusedSgd optimizer(net.parameters(), {.momentum = 0.9, .weight_decay = 1e-4}, test::parameter_kernels_on(device));
  train::EagerStep step(net);
  result::PhaseClock clock;
  model::DeviceBatch batch = test::small_batch(device);
  std::vector<at::Tensor> losses;
  std::vector<at::Tensor> draws;  // copied before anything is counted
  for (std::int64_t s = 0; s < steps; ++s) draws.push_back(model::draw_key(9, s).to(device));
  const train::Rates rates = test::rates_on(device, 0.02);
  for (std::int64_t s = 0; s < steps; ++s) {
    batch.draw = draws[static_cast<std::size_t>(s)];
    if (s == 1) test::reset_waits();  // the first step makes the anchors of the images' size, and copies them
    for (const at::Tensor& l : step.forward_backward(batch, clock)) losses.push_back(l);
    optimizer.step(rates);
  }
  Outcome out{.losses = {}, .gradients = {}, .weights = {}, .reads = test::waits()};
  for (const at::Tensor& l : losses) out.losses.push_back(l.to(at::kCPU).item<float>());
  out.gradients = net.parameters().flat_gradients().to(at::kCPU);
  out.weights = net.parameters().flat_values().detach().to(at::kCPU);
  return out;
}

std::size_t first_difference(const at::Tensor& a, const at::Tensor& b) {
  const auto *x = a.const_data_ptr<float>(), *y = b.const_data_ptr<float>();
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (std::memcmp(x + i, y + i, sizeof(float)) != 0) return static_cast<std::size_t>(i);
  return static_cast<std::size_t>(a.numel());
}

TEST(DeviceStep, AsksTheDeviceNothing) {
  for (const Variant& v : variants()) {
    model::ModelConfig config = small_model();
    v.change(config);
    const Outcome out = steps_on(test::device_double(), config, 3);
    EXPECT_TRUE(out.reads.empty()) << v.name << ": " << out.reads.size() << " kinds, " << (out.reads.empty() ? "" : out.reads.begin()->first);
  }
}

// The classical step runs over the positives only: how many there are the host must be told.
TEST(DeviceStep, TheClassicalStepAsks) {
  model::ModelConfig config = small_model();
  config.shapes = "dynamic";
  const auto reads = steps_on(test::device_double(), config, 3).reads;
  EXPECT_EQ(reads, (std::map<std::string, std::int64_t>{{"nonzero", 2}}));
}

TEST(DeviceStep, HasTheHostsBits) {
  for (const Variant& v : variants()) {
    if (!v.own_kernels) continue;  // torch's group norm sums in an order that hangs on the layout, which a device's operators choose themselves
    SCOPED_TRACE(v.name);
    model::ModelConfig config = small_model();
    v.change(config);
    const Outcome host = steps_on(at::kCPU, config, 3), device = steps_on(test::device_double(), config, 3);
    EXPECT_EQ(host.losses, device.losses);
    ASSERT_EQ(host.gradients.numel(), device.gradients.numel());
    EXPECT_EQ(first_difference(host.gradients, device.gradients), static_cast<std::size_t>(host.gradients.numel()));
    EXPECT_EQ(first_difference(host.weights, device.weights), static_cast<std::size_t>(host.weights.numel()));
    EXPECT_GT(host.gradients.abs().sum().item<float>(), 0);
  }
}

// What the count is worth: each way to wait for the device is noticed.
TEST(DeviceDouble, CountsEveryWayToWait) {
  const at::Tensor t = at::arange(6, at::TensorOptions(at::kFloat)).to(test::device_double());
  const auto reads_of = [&](const std::function<void()>& action) {
    test::reset_waits();
    action();
    return test::waits();
  };
  using Reads = std::map<std::string, std::int64_t>;
  EXPECT_EQ(reads_of([&] { t.add(1).mul_(2).sum(); }), Reads{});
  EXPECT_EQ(reads_of([&] { t.sum().item<float>(); }), (Reads{{"item", 1}}));
  EXPECT_EQ(reads_of([&] { t.to(at::kCPU); }), (Reads{{"copy to the host", 1}}));
  EXPECT_EQ(reads_of([&] { at::empty_like(t, at::kCPU).copy_(t, /*non_blocking=*/true); }), (Reads{{"copy to the host", 1}}));
  std::pmr::vector<float> memory(6, test::locked_memory());
  const at::Tensor locked = at::from_blob(memory.data(), {6}, at::kFloat);
  EXPECT_EQ(reads_of([&] { locked.copy_(t, /*non_blocking=*/true); }), Reads{});
  EXPECT_EQ(reads_of([&] { t.clone().copy_(locked, /*non_blocking=*/true); }), Reads{});
  EXPECT_EQ(reads_of([&] { t.clone().copy_(locked); }), (Reads{{"copy from the host", 1}}));
  EXPECT_EQ(reads_of([&] { locked.clone().to(test::device_double(), at::kFloat, /*non_blocking=*/true); }), (Reads{{"copy from the host", 1}}));
  EXPECT_EQ(reads_of([&] { t.nonzero(); }), (Reads{{"nonzero", 1}}));
  EXPECT_EQ(reads_of([&] { t.index({std::optional<at::Tensor>(t.gt(2))}); }), (Reads{{"nonzero", 1}}));
  EXPECT_EQ(reads_of([&] { t.masked_select(t.gt(2)); }), (Reads{{"masked_select", 1}}));
  EXPECT_EQ(reads_of([&] { t.equal(t); }), (Reads{{"equal", 1}}));
}

}  // namespace
}  // namespace ttt
