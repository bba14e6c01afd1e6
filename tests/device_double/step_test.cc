// A training step on a device: asks it nothing, and with the device's kernels gives the bits that the host's give.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/rng.h"
#include "emulator.h"
#include "kernels/cuda/detection.h"
#include "model/mask_rcnn.h"
#include "model/ops/device_kernels.h"
#include "tests/device_double/device_double.h"
#include "train/optimizer.h"
#include "train/step.h"

namespace ttt {
namespace {

constexpr std::int64_t kImages = 2, kSide = 64, kObjects = 4;

model::ModelConfig small_model() {
  model::ModelConfig c;
  c.classes = 4;
  c.backbone.block = "basic", c.backbone.blocks = {1, 1, 1, 1}, c.backbone.width = 8, c.backbone.fpn_channels = 16;
  c.rpn.anchor_sizes = {8, 16, 32, 64, 128}, c.rpn.sample = 32, c.rpn.pre_nms_train = 60, c.rpn.post_nms_train = 40;
  c.roi.sample = 16, c.roi.box_hidden = 32, c.roi.mask_channels = 16, c.roi.mask_layers = 1;
  return c;
}

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

// Two images of noise with a few rectangles as objects, outlines and bitmaps alike; the second has one less.
model::DeviceBatch batch_on(const at::Device& device) {
  Stream draw(random_bits(3, Purpose::kTest, 1));
  const auto cpu = [](auto values, at::IntArrayRef shape, at::ScalarType type) { return at::from_blob(values.data(), shape, type).clone(); };
  std::vector<float> pixels(static_cast<std::size_t>(kImages * kSide * kSide * 3)), boxes, vertices;
  for (float& p : pixels) p = static_cast<float>(draw.uniform()) * 2 - 1;
  std::vector<std::int32_t> label, polygon{0}, vertex{0}, bitmap_box;
  std::vector<std::int64_t> offset;
  std::vector<std::uint8_t> bytes;
  const std::vector<std::int32_t> count = {3, 2}, size = {64, 64, 60, 52};
  for (std::int32_t n = 0; n < kImages; ++n)
    for (std::int32_t g = 0; g < kObjects; ++g) {
      const bool there = g < count[static_cast<std::size_t>(n)];
      const std::int32_t x = 4 + 13 * g, y = 6 + 9 * n + 5 * g, w = 10 + 4 * g, h = 14 + 3 * n;
      const float x1 = static_cast<float>(x), y1 = static_cast<float>(y), x2 = static_cast<float>(x + w), y2 = static_cast<float>(y + h);
      if (there) boxes.insert(boxes.end(), {x1, y1, x2, y2}), vertices.insert(vertices.end(), {x1, y1, x2, y1, x2, y2, x1, y2}), vertex.push_back(vertex.back() + 4);
      else boxes.insert(boxes.end(), {0, 0, 0, 0});
      label.push_back(there ? 1 + (g + n) % 3 : 0);
      polygon.push_back(static_cast<std::int32_t>(vertex.size()) - 1);
      bitmap_box.insert(bitmap_box.end(), {there ? x : 0, there ? y : 0, there ? w : 0, there ? h : 0});
      offset.push_back(static_cast<std::int64_t>(bytes.size()));
      for (std::int32_t i = 0; there && i < w * h; ++i) bytes.push_back(draw.below(4) > 0);
    }
  std::vector<std::int64_t> id = {17, 42};
  const auto n32 = [](const auto& v) { return static_cast<std::int64_t>(v.size()); };
  return {.images = cpu(pixels, {kImages, kSide, kSide, 3}, at::kFloat).to(device).permute({0, 3, 1, 2}),
          .image_size = cpu(size, {kImages, 2}, at::kInt).to(device),
          .image_id = cpu(id, {kImages}, at::kLong).to(device),
          .gt_box = cpu(boxes, {kImages, kObjects, 4}, at::kFloat).to(device),
          .gt_label = cpu(label, {kImages, kObjects}, at::kInt).to(device),
          .gt_count = cpu(count, {kImages}, at::kInt).to(device),
          .masks = {.object_polygon = cpu(polygon, {n32(polygon)}, at::kInt).to(device), .polygon_vertex = cpu(vertex, {n32(vertex)}, at::kInt).to(device),
                    .vertices = cpu(vertices, {n32(vertices) / 2, 2}, at::kFloat).to(device), .bitmap_box = cpu(bitmap_box, {n32(offset), 4}, at::kInt).to(device),
                    .bitmap_offset = cpu(offset, {n32(offset)}, at::kLong).to(device), .bitmap_bytes = cpu(bytes, {n32(bytes)}, at::kByte).to(device)}};
}

model::DetectionOps ops_on(const at::Device& device) {
  if (device.is_cpu()) return model::host_ops();
  return model::kernel_ops("emulated", model::DeviceKernels(device, [] { return cudaStream_t{}; }));
}

struct Outcome {
  std::vector<float> losses;
  at::Tensor gradients, weights;  // on the CPU
  std::map<std::string, std::int64_t> reads;
};

Outcome steps_on(const at::Device& device, const model::ModelConfig& config, std::uint64_t steps) {
  model::MaskRcnn net(config, ops_on(device), 5, device, nullptr);
  train::FusedSgd optimizer(net.parameters(), {.momentum = 0.9, .weight_decay = 1e-4},
                            device.is_cpu() ? train::SgdKernel{} : [](const kernels::SgdParams& p, std::int64_t n, const float* g, float* m, float* w) {
                              kernels::cuda::sgd(p, n, g, m, w, nullptr);
                            });
  train::EagerStep step(net);
  result::PhaseClock clock;
  const model::DeviceBatch batch = batch_on(device);
  std::vector<at::Tensor> losses;
  for (std::uint64_t s = 0; s < steps; ++s) {
    if (s == 1) test::reset_waits();  // the first step makes the anchors of the images' size, and copies them
    for (const at::Tensor& l : step.forward_backward(batch, {.seed = 9, .step = s}, clock)) losses.push_back(l);
    optimizer.step(0.02, 1.0);
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
