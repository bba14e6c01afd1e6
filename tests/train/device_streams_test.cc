// Copies beside a step: the fake device's streams find planted mistakes, and a run's own copies make none.
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "models/copy_stream.h"
#include "tests/support/fake_device/fake_device.h"
#include "train/device_batch.h"

namespace ttt {
namespace {

// Numbers on their way to the device by a stream of their own.
struct Upload {
  explicit Upload(bool own = true) : stream(test::fake_device(), own) {
    stream.start([&](const auto& copy) { copy(values); });
  }
  // What the current stream reads of them.
  float read() const { return values.mul(1).to(at::kCPU).const_data_ptr<float>()[2]; }

  std::pmr::vector<float> host{{1, 2, 3, 4}, test::locked_memory()};
  at::Tensor values = at::from_blob(host.data(), {4}, at::kFloat);
  model::CopyStream stream;
};

TEST(Streams, WithoutJoin_ReadsRubbish) {
  Upload u;
  EXPECT_TRUE(std::isnan(u.read()));
  u.stream.join();
  EXPECT_EQ(u.read(), 3);
}

TEST(Streams, WithoutWait_HostOverwrites) {
  Upload early, late;
  early.host[2] = 9;
  early.stream.join();
  EXPECT_EQ(early.read(), 9) << "the copy came after the host's change";
  late.stream.wait();
  late.host[2] = 9;
  late.stream.join();
  EXPECT_EQ(late.read(), 3);
}

TEST(Streams, WithoutHandOver_MemoryReturnsEarly) {
  const auto returns_of = [](bool handed) {
    const std::int64_t before = test::early_returns();
    {
      Upload u;
      u.stream.join();
      if (handed) u.stream.hand_over(u.values);
      EXPECT_EQ(u.read(), 3);
    }
    return test::early_returns() - before;
  };
  EXPECT_EQ(returns_of(true), 0);
  EXPECT_EQ(returns_of(false), 1);
}

TEST(Streams, SameStream_NeedsNothing) {
  const std::int64_t before = test::early_returns();
  EXPECT_EQ(Upload(false).read(), 3);
  EXPECT_EQ(test::early_returns(), before);
}

// A loss is read where its event has come, and not before.
TEST(Streams, Losses_ComeWithEvent) {
  const at::Tensor loss = at::from_blob(std::vector<float>{5}.data(), {1}, at::kFloat).clone().to(test::fake_device());
  std::pmr::vector<float> host(1, test::locked_memory());
  at::from_blob(host.data(), {1}, at::kFloat).copy_(loss, /*non_blocking=*/true);
  EXPECT_TRUE(std::isnan(host[0]));
  train::LossQueue queue(test::fake_device(), test::locked_memory());
  queue.push({loss.squeeze(0), loss.squeeze(0)});
  EXPECT_EQ(queue.pop(), (std::vector<double>{5, 5}));
  EXPECT_EQ(host[0], 5) << "the event stands behind the earlier copy too";
}

// Batches in turn from the same memory of the host, as a loader gives them.
TEST(Streams, Uploader_KeepsBatchesApart) {
  const at::Device device = test::fake_device();
  data::DataSettings settings;
  train::Uploader uploader(
      device, test::locked_memory(), model::Preprocessor(settings, {}, device), /*own_stream=*/true);
  data::HostBatch host = data::HostBatch::in(test::locked_memory());
  host.images_n = 1, host.height = host.width = 2;
  host.images.resize(12), host.image_size = {2, 2}, host.image_id = {0}, host.flipped = {0};
  host.gt_count = {0};
  const std::int64_t before = test::early_returns();
  for (int step = 0; step < 3; ++step) {
    std::fill(host.images.begin(), host.images.end(), static_cast<float>(step));
    host.image_id[0] = step;
    uploader.start(host, {.seed = 1, .step = step, .lr = 0.5, .gradient_scale = 1});
    uploader.wait();
    std::fill(host.images.begin(), host.images.end(), -1.0f);
    const train::StepInputs inputs = uploader.take();
    EXPECT_EQ(inputs.batch.images.mul(1).to(at::kCPU).sum().item<float>(), 12.0f * static_cast<float>(step));
    EXPECT_EQ(inputs.batch.image_id.to(at::kCPU).item<std::int64_t>(), step);
    EXPECT_EQ(inputs.batch.draw.to(at::kCPU).const_data_ptr<std::int64_t>()[1], step);
  }
  EXPECT_EQ(test::early_returns(), before);
}

}  // namespace
}  // namespace ttt
