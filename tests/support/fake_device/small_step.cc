#include "tests/support/fake_device/small_step.h"

#include <ATen/ops/from_blob.h>

#include "core/rng.h"
#include "models/ops/device_kernels.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/fake_device/streams.h"

namespace ttt::test {
namespace {

constexpr std::int64_t kImages = 2, kObjects = 4;

struct Objects {
  std::vector<float> boxes, vertices;
  std::vector<std::int32_t> label, polygon{0}, vertex{0}, bitmap_box;
  std::vector<std::int64_t> offset;
  std::vector<std::uint8_t> bytes;
};

Objects draw_objects(Stream& draw, std::int32_t larger) {
  Objects o;
  const std::int32_t count[kImages] = {3, 2};
  for (std::int32_t n = 0; n < kImages; ++n)
    for (std::int32_t g = 0; g < kObjects; ++g) {
      const bool there = g < count[n];
      const std::int32_t x = 4 + 13 * g, y = 6 + 9 * n + 5 * g, w = 10 + 4 * g + larger, h = 14 + 3 * n + larger;
      const float x1 = static_cast<float>(x), y1 = static_cast<float>(y), x2 = static_cast<float>(x + w),
                  y2 = static_cast<float>(y + h);
      if (there)
        o.boxes.insert(o.boxes.end(), {x1, y1, x2, y2}),
            o.vertices.insert(o.vertices.end(), {x1, y1, x2, y1, x2, y2, x1, y2}),
            o.vertex.push_back(o.vertex.back() + 4);
      else o.boxes.insert(o.boxes.end(), {0, 0, 0, 0});
      o.label.push_back(there ? 1 + (g + n) % 3 : 0);
      o.polygon.push_back(static_cast<std::int32_t>(o.vertex.size()) - 1);
      o.bitmap_box.insert(o.bitmap_box.end(), {there ? x : 0, there ? y : 0, there ? w : 0, there ? h : 0});
      o.offset.push_back(static_cast<std::int64_t>(o.bytes.size()));
      for (std::int32_t i = 0; there && i < w * h; ++i) o.bytes.push_back(draw.below(4) > 0);
    }
  return o;
}

}  // namespace

model::ModelConfig small_model() {
  model::ModelConfig c;
  c.classes = 4;
  c.backbone.block = "basic", c.backbone.blocks = {1, 1, 1, 1}, c.backbone.width = 8, c.backbone.fpn_channels = 8;
  c.rpn.anchor_sizes = {8, 16, 32, 64, 128}, c.rpn.sample = 32, c.rpn.pre_nms_train = 60, c.rpn.post_nms_train = 40;
  c.roi.sample = 16, c.roi.box_hidden = 16, c.roi.mask_channels = 8, c.roi.mask_layers = 1;
  return c;
}

model::DeviceBatch small_batch(const at::Device& device, const SmallBatch& which) {
  Stream draw(random_bits(3, Purpose::kTest, which.noise));
  const auto tensor = [&](auto values, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(values.data(), shape, type).clone().to(device);
  };
  const auto flat = [&](const auto& values, at::ScalarType type) {
    return tensor(values, {static_cast<std::int64_t>(values.size())}, type);
  };
  std::vector<float> pixels(static_cast<std::size_t>(kImages * which.side * which.side * 3));
  for (float& p : pixels) p = static_cast<float>(draw.uniform()) * 2 - 1;
  const Objects o = draw_objects(draw, which.larger);
  return {.images = tensor(pixels, {kImages, which.side, which.side, 3}, at::kFloat).permute({0, 3, 1, 2}),
      .image_size = tensor(std::vector<std::int32_t>{64, 64, 60, 52}, {kImages, 2}, at::kInt),
      .image_id = tensor(std::vector<std::int64_t>{17, 42}, {kImages}, at::kLong),
      .gt_box = tensor(o.boxes, {kImages, kObjects, 4}, at::kFloat),
      .gt_label = tensor(o.label, {kImages, kObjects}, at::kInt),
      .gt_count = tensor(std::vector<std::int32_t>{3, 2}, {kImages}, at::kInt),
      .masks = {.object_polygon = flat(o.polygon, at::kInt),
          .polygon_vertex = flat(o.vertex, at::kInt),
          .vertices = flat(o.vertices, at::kFloat).view({-1, 2}),
          .bitmap_box = flat(o.bitmap_box, at::kInt).view({-1, 4}),
          .bitmap_offset = flat(o.offset, at::kLong),
          .bitmap_bytes = flat(o.bytes, at::kByte)},
      .draw = model::draw_key(9, 0).to(device)};
}

// Of kernels, which are started by torch's current stream.
static cudaStream_t own_stream() {
  work_comes();
  return {};
}

model::DetectionOps ops_on(const at::Device& device) {
  if (device.is_cpu()) return model::host_ops();
  return model::kernel_ops("emulated", model::DeviceKernels(device, own_stream));
}

model::ParameterKernels parameter_kernels_on(const at::Device& device) {
  if (device.is_cpu()) return {};
  return model::device_parameter_kernels(own_stream);
}

train::Rates rates_on(const at::Device& device, double lr) {
  train::Rates rates = train::rates_on_host(lr, 1.0);
  rates.tensor = rates.tensor.to(device);
  return rates;
}

}  // namespace ttt::test
