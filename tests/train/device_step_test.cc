// A training step on a device: asks it nothing, and with the device's kernels gives the bits that the host's give.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "core/rng.h"
#include "eval/postprocess.h"
#include "health/watchdog.h"
#include "tests/support/fake_device/convolution_keys.h"
#include "tests/support/fake_device/fake_device.h"
#include "tests/support/fake_device/small_step.h"
#include "train/device_batch.h"
#include "train/optimizers/optimizer.h"
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
            c.legacy_boxes = true, c.backbone.norm = "frozen", c.backbone.block = "bottleneck",
            c.backbone.stride_in_1x1 = true, c.rpn.drop_straddling = true;
            c.rpn.stride_from_grid = false, c.rpn.cut_over_batch = c.rpn.cut_per_level = true,
            c.roi.mask_target = "polygon", c.roi.init = "detectron";
          }},
      {"group_norm", [](model::ModelConfig& c) { c.backbone.norm = "group", c.backbone.norm_groups = 4; }, false},
  };
  return all;
}

struct Outcome {
  std::vector<float> losses;
  at::Tensor gradients, weights;  // on the CPU
  std::map<std::string, std::int64_t> reads;
  result::Json scale = nullptr;  // of the loss, after the last step
};

// In fp16 with a loss that is scaled.
Outcome steps_on(const at::Device& device, const model::ModelConfig& config, std::int64_t steps,
    const train::OptimizerConfig& optimizer_config = {}) {
  model::MaskRcnn net(config, test::ops_on(device), 5, device, nullptr);
  std::optional<train::LossScaler> scaler;
  if (config.precision == "fp16") scaler.emplace(train::LossScaleConfig{.initial = 1024, .interval = 1}, device);
  train::LossScaler* const scale = scaler ? &*scaler : nullptr;
  const auto optimizer = train::make_optimizer(
      optimizer_config, {.store = net.parameters(), .kernels = test::parameter_kernels_on(device), .scaler = scale});
  train::EagerStep step(net, {}, scale);
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
    optimizer->step(rates);
  }
  Outcome out{.losses = {}, .gradients = {}, .weights = {}, .reads = test::waits()};
  for (const at::Tensor& l : losses) out.losses.push_back(l.to(at::kCPU).item<float>());
  if (scaler) out.scale = scaler->describe();
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
    const Outcome out = steps_on(test::fake_device(), config, 3);
    EXPECT_TRUE(out.reads.empty()) << v.name << ": " << out.reads.size() << " kinds, "
                                   << (out.reads.empty() ? "" : out.reads.begin()->first);
  }
}

TEST(DeviceStep, EveryOptimizer_AsksNothing) {
  constexpr const char* kKinds[] = {TTT_OPTIMIZERS(TTT_CHOICE_NAME)};
  for (const char* kind : kKinds) {
    const Outcome device = steps_on(test::fake_device(), small_model(), 3, {.kind = kind});
    EXPECT_TRUE(device.reads.empty()) << kind << ": " << (device.reads.empty() ? "" : device.reads.begin()->first);
    const Outcome host = steps_on(at::kCPU, small_model(), 3, {.kind = kind}),
                  before = steps_on(at::kCPU, small_model(), 0, {.kind = kind});
    const float moved = (host.weights - before.weights).abs().max().item<float>();
    EXPECT_GT(moved, 0) << kind;
    // The kernels' bits are the host's (kernels_emulated_updates); what torch does between them may round otherwise.
    EXPECT_LT((device.weights - host.weights).abs().max().item<float>(), 1e-3 * moved) << kind;
  }
}

// In lower precision too, by torch's own lists for CUDA of what is computed in it. No wait, no sum in any order, and
// losses that are those of float32 but for what 8 or 11 bits lose. In fp16 the loss is scaled, and the scale grows with
// each step.
TEST(DeviceStep, LowerPrecision_AsksTheDeviceNothing) {
  const std::vector<float> exact = steps_on(test::fake_device(), small_model(), 3).losses;
  for (const char* precision : {"bf16", "fp16"}) {
    SCOPED_TRACE(precision);
    model::ModelConfig config = small_model();
    config.precision = precision;
    test::reset_unordered_sums();
    const Outcome out = steps_on(test::fake_device(), config, 3);
    EXPECT_EQ(out.reads, (std::map<std::string, std::int64_t>{}));
    EXPECT_EQ(test::unordered_sums(), (std::map<std::string, std::int64_t>{}));
    EXPECT_EQ(out.scale, config.precision == "fp16" ? result::Json({{"scale", 1024.0 * 8}, {"skipped_steps", 0}})
                                                    : result::Json(nullptr));
    ASSERT_EQ(out.losses.size(), exact.size());
    EXPECT_NE(out.losses, exact) << "nothing was computed in it";
    // The anchors' losses of the first step, whose samples are the same: of some dozen layers each rounds to 8 bits,
    // 0.4 %. What the heads are given depends on the order of proposals, which other logits change.
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(out.losses[i], exact[i], 0.02 * exact[i]) << model::kLossNames[i];
    for (const float l : out.losses) EXPECT_TRUE(std::isfinite(l));
    EXPECT_GT(out.gradients.abs().sum().item<float>(), 0);
  }
}

// The classical step runs over the positives only: how many there are the host must be told.
TEST(DeviceStep, TheClassicalStepAsks) {
  model::ModelConfig config = small_model();
  config.shapes = "dynamic";
  const auto reads = steps_on(test::fake_device(), config, 3).reads;
  EXPECT_EQ(reads, (std::map<std::string, std::int64_t>{{"nonzero", 2}}));
}

// Plans that are searched for after the first of three batches, which differ in their objects and detections.
std::vector<std::string> later_searches(const std::string& shapes, bool training) {
  const at::Device device = test::fake_device();
  model::ModelConfig config = small_model();
  config.shapes = shapes;
  // Neither the sample nor the detections are full, whatever the images show.
  config.roi.sample_positive = 1, config.roi.match_iou = 0.2, config.roi.score_threshold = 0.25;
  config.roi.detections = 60, config.rpn.post_nms_test = 20;
  model::MaskRcnn net(config, test::ops_on(device), 5, device, nullptr);
  train::EagerStep step(net, {}, nullptr);
  result::PhaseClock clock;
  test::reset_convolution_keys();
  std::set<std::string> warm;
  for (std::int32_t i = 0; i < 3; ++i) {
    model::DeviceBatch batch = test::small_batch(device, {.noise = static_cast<std::uint64_t>(i), .larger = i});
    batch.draw = model::draw_key(9, i).to(device);
    if (training) step.forward_backward(batch, clock);
    else net.predict(batch);
    if (i == 0) warm = test::convolution_keys();
  }
  const std::set<std::string> all = test::convolution_keys();
  EXPECT_FALSE(warm.empty());
  std::vector<std::string> later;
  std::set_difference(all.begin(), all.end(), warm.begin(), warm.end(), std::back_inserter(later));
  return later;
}

// Over the positives, or the detections, alone every batch has shapes of its own.
TEST(DeviceStep, SearchesForNoPlanAgain) {
  for (const bool training : {true, false}) {
    SCOPED_TRACE(training);
    EXPECT_EQ(later_searches("static", training), std::vector<std::string>{});
    EXPECT_FALSE(later_searches("dynamic", training).empty());
  }
}

TEST(DeviceStep, HasTheHostsBits) {
  for (const Variant& v : variants()) {
    // torch's group norm sums in an order that hangs on the layout, which a device's operators choose themselves
    if (!v.own_kernels) continue;
    SCOPED_TRACE(v.name);
    model::ModelConfig config = small_model();
    v.change(config);
    const Outcome host = steps_on(at::kCPU, config, 3), device = steps_on(test::fake_device(), config, 3);
    EXPECT_EQ(host.losses, device.losses);
    ASSERT_EQ(host.gradients.numel(), device.gradients.numel());
    EXPECT_EQ(first_difference(host.gradients, device.gradients), static_cast<std::size_t>(host.gradients.numel()));
    EXPECT_EQ(first_difference(host.weights, device.weights), static_cast<std::size_t>(host.weights.numel()));
    EXPECT_GT(host.gradients.abs().sum().item<float>(), 0);
  }
}

// A captured step, an eager step and a repeated run give the same bits on a GPU, as far as torch's operators go. For
// cuDNN's algorithms see train.cudnn_deterministic. Two images with three classes: rows of one class meet in every
// gradient by class.
TEST(DeviceStep, AddsNothingInAnyOrder) {
  for (const Variant& v : variants()) {
    model::ModelConfig config = small_model();
    v.change(config);
    test::reset_unordered_sums();
    steps_on(test::fake_device(), config, 3);
    EXPECT_EQ(test::unordered_sums(), (std::map<std::string, std::int64_t>{})) << v.name;
  }
}

// What that is worth.
TEST(DeviceDouble, CountsSumsInAnyOrder) {
  const at::Device device = test::fake_device();
  const at::Tensor values = at::arange(6, at::TensorOptions(at::kFloat)).view({3, 2}).to(device),
                   rows = at::tensor(std::vector<std::int64_t>{0, 2, 2}).to(device);
  const at::Tensor apart = at::tensor(std::vector<std::int64_t>{0, 2, 1}).to(device), ones = at::ones({3, 2}, device);
  const auto sums_of = [&](const std::function<void()>& action) {
    test::reset_unordered_sums();
    action();
    return test::unordered_sums();
  };
  const auto gradient = [&](const std::function<at::Tensor(const at::Tensor&)>& of) {
    return [&values, of] { of(values.clone().requires_grad_()).sum().backward(); };
  };
  using Sums = std::map<std::string, std::int64_t>;
  EXPECT_EQ(sums_of(gradient([&](const at::Tensor& t) { return t.index_select(0, rows); })), (Sums{{"index_add", 1}}));
  EXPECT_EQ(sums_of(gradient([&](const at::Tensor& t) { return t.index_select(0, apart); })), Sums{});
  EXPECT_EQ(sums_of(gradient([&](const at::Tensor& t) { return t.gather(0, rows.unsqueeze(1)); })),
      (Sums{{"scatter_add", 1}}));
  EXPECT_EQ(sums_of(gradient([&](const at::Tensor& t) {
    return t.gather(0, rows.unsqueeze(1)) * at::tensor(std::vector<float>{1, 1, 0}).to(t.device()).unsqueeze(1);
  })),
      Sums{});
  EXPECT_EQ(
      sums_of(gradient([&](const at::Tensor& t) { return t.index({std::optional<at::Tensor>(rows)}); })).size(), 1u);
  EXPECT_EQ(sums_of([&] { values.clone().index_add_(0, rows, ones); }), (Sums{{"index_add", 1}}));
  EXPECT_EQ(sums_of([&] { rows.clone().index_add_(0, rows, rows); }), Sums{}) << "whole numbers have one sum";
}

// Masks of images of different shapes, the same runs as the host's.
TEST(DeviceMasks, AreEncodedAsOnTheHost) {
  const float nan = std::nanf(""), inf = HUGE_VALF;
  const std::vector<float> boxes = {2, 3, 20, 30, -5, -5, 50, 80, 40, 60, 90, 99, nan, 0, 9, 9, 0, 0, inf, 9, 60, 60,
      80, 80, 10, -4, 20, 70, 0, 0, 1e9f, 4};
  const std::vector<std::int32_t> sizes = {40, 30, 61, 37, 61, 37, 40, 30, 40, 30, 40, 30, 61, 37, 40, 30};
  const std::int64_t masks = std::ssize(boxes) / 4, side = 28;
  std::vector<float> probability(static_cast<std::size_t>(masks * side * side));
  Stream draw(random_bits(4, Purpose::kTest, 0));
  for (float& p : probability) p = static_cast<float>(draw.uniform());
  // to the images' last pixels
  std::fill(probability.begin() + side * side, probability.begin() + 3 * side * side, 1.0f);
  const auto tensor = [](const auto& values, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), shape, type).clone();
  };
  const at::Tensor mask = tensor(probability, {masks, side, side}, at::kFloat),
                   box = tensor(boxes, {masks, 4}, at::kFloat), size = tensor(sizes, {masks, 2}, at::kInt);
  const auto host = test::ops_on(at::kCPU).encode_masks(mask, box, size),
             device = test::ops_on(test::fake_device()).encode_masks(mask.to(test::fake_device()), box, size);
  ASSERT_EQ(host.size(), device.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    EXPECT_EQ(host[i].height, device[i].height) << i;
    EXPECT_EQ(host[i].width, device[i].width) << i;
    EXPECT_EQ(host[i].counts, device[i].counts) << i;
  }
  EXPECT_GT(host[0].counts.size(), 20u);
  EXPECT_EQ(host[3].counts.size(), 1u);
  EXPECT_TRUE(test::ops_on(test::fake_device())
                  .encode_masks(mask.narrow(0, 0, 0).to(test::fake_device()), box.narrow(0, 0, 0), size.narrow(0, 0, 0))
                  .empty());
}

// Two images of a batch and a filler, in which the model found something too.
TEST(DeviceMasks, FillersOfABatchGiveNothing) {
  data::HostBatch batch = data::HostBatch::in(std::pmr::new_delete_resource());
  batch.image_id = {11, 12, -1};
  batch.image_size = {64, 48, 32, 64, 64, 64};
  batch.original_size = {128, 96, 61, 122, 64, 64};
  const std::vector<float> one = {4, 8, 30, 40};
  const auto all = [&](const at::Device& device) {
    const at::Tensor boxes = at::tensor(one).repeat({3, 2, 1}).to(device);
    const model::Prediction found{
        .detected = {.boxes = boxes,
            .score = at::tensor(std::vector<float>{0.9f, 0.8f, 0.7f, 0, 0.6f, 0.5f}).view({3, 2}).to(device),
            .label = at::tensor(std::vector<std::int32_t>{1, 2, 2, 0, 1, 1}, at::kInt).view({3, 2}).to(device),
            .count = at::tensor(std::vector<std::int32_t>{2, 1, 2}, at::kInt).to(device)},
        .masks = at::full({5, 28, 28}, 0.9f).to(device)};
    return eval::detections_of(found, batch, test::ops_on(device), {101, 102}, false);
  };
  const auto host = all(at::kCPU), device = all(test::fake_device());
  ASSERT_EQ(host.size(), 3u);
  ASSERT_EQ(device.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(host[i].image_id, i < 2 ? 11 : 12);
    EXPECT_EQ(host[i].category_id, i == 0 ? 101 : 102);
    EXPECT_EQ(device[i].image_id, host[i].image_id);
    EXPECT_EQ(device[i].category_id, host[i].category_id);
    EXPECT_EQ(device[i].score, host[i].score);
    EXPECT_EQ(device[i].bbox, host[i].bbox);
    EXPECT_EQ(device[i].mask.counts, host[i].mask.counts);
  }
  EXPECT_EQ(host[0].bbox, (std::array<double, 4>{8, 16, 52, 64}));  // twice as wide and high
  EXPECT_EQ(host[2].mask.height, 61u);
  EXPECT_EQ(host[2].mask.width, 122u);
}

// Where the device is late with a step, the rank says that it waits for it, which the watchdog reads; else it says
// nothing.
TEST(LossQueue, Wait_IsShown) {
  const at::Device device = test::fake_device();
  comm::RankState place;
  place.step = 7, place.stage = static_cast<std::int32_t>(result::Phase::kOther);
  train::LossQueue queue(device, test::locked_memory(), &place);
  const auto push = [&](float first) {
    std::vector<at::Tensor> losses;
    for (int i = 0; i < 5; ++i) losses.push_back(at::full({}, first + static_cast<float>(i)).to(device));
    queue.push(losses);
  };
  push(1);
  EXPECT_EQ(queue.pop()[2], 3.0);
  EXPECT_EQ(place.stage, static_cast<std::int32_t>(result::Phase::kOther));
  push(2);
  test::set_busy(true);
  std::atomic<bool> came = false;
  std::thread host([&] {
    EXPECT_EQ(queue.pop()[2], 4.0);
    came = true;
  });
  for (int i = 0; i < 1000 && place.stage != comm::kDeviceStage; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(came);
  comm::Sign waits{.step = place.step, .stage = place.stage, .still_s = 9},
      works{.step = 7, .stage = static_cast<std::int32_t>(result::Phase::kDataWait), .still_s = 9};
  EXPECT_EQ(train::describe_stand({waits, works}, {"a", "b"}, 1),
      "rank 1 (node b) has been in data_wait of step 7 for 9.0 s; rank 0 waits in the device's work of step 7");
  test::set_busy(false);
  host.join();
  EXPECT_EQ(place.stage, static_cast<std::int32_t>(result::Phase::kOther));
}

// What the count is worth: each way to wait for the device is noticed.
TEST(DeviceDouble, CountsEveryWayToWait) {
  const at::Tensor t = at::arange(6, at::TensorOptions(at::kFloat)).to(test::fake_device());
  const auto reads_of = [&](const std::function<void()>& action) {
    test::reset_waits();
    action();
    return test::waits();
  };
  using Reads = std::map<std::string, std::int64_t>;
  EXPECT_EQ(reads_of([&] { t.add(1).mul_(2).sum(); }), Reads{});
  EXPECT_EQ(reads_of([&] { t.sum().item<float>(); }), (Reads{{"item", 1}}));
  EXPECT_EQ(reads_of([&] { t.to(at::kCPU); }), (Reads{{"copy to the host", 1}}));
  EXPECT_EQ(
      reads_of([&] { at::empty_like(t, at::kCPU).copy_(t, /*non_blocking=*/true); }), (Reads{{"copy to the host", 1}}));
  std::pmr::vector<float> memory(6, test::locked_memory());
  const at::Tensor locked = at::from_blob(memory.data(), {6}, at::kFloat);
  EXPECT_EQ(reads_of([&] { locked.copy_(t, /*non_blocking=*/true); }), Reads{});
  EXPECT_EQ(reads_of([&] { t.clone().copy_(locked, /*non_blocking=*/true); }), Reads{});
  EXPECT_EQ(reads_of([&] { t.clone().copy_(locked); }), (Reads{{"copy from the host", 1}}));
  EXPECT_EQ(reads_of([&] { locked.clone().to(test::fake_device(), at::kFloat, /*non_blocking=*/true); }),
      (Reads{{"copy from the host", 1}}));
  EXPECT_EQ(reads_of([&] { t.nonzero(); }), (Reads{{"nonzero", 1}}));
  EXPECT_EQ(reads_of([&] { t.index({std::optional<at::Tensor>(t.gt(2))}); }), (Reads{{"nonzero", 1}}));
  EXPECT_EQ(reads_of([&] { t.masked_select(t.gt(2)); }), (Reads{{"masked_select", 1}}));
  EXPECT_EQ(reads_of([&] { t.equal(t); }), (Reads{{"equal", 1}}));
}

}  // namespace
}  // namespace ttt
