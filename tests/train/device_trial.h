// A few steps on the fake device, and what came of them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/error.h"
#include "cuda/graphs.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/fake_device/fake_device.h"
#include "tests/support/fake_device/small_step.h"
#include "train/graph_runner.h"
#include "train/optimizers/optimizer.h"

namespace ttt::test {

using Planned = std::vector<SmallBatch>;

// Every batch another. Six steps of one size: three before anything is recorded, the recording, two more.
inline const Planned& one_size() {
  static const Planned all = {{.noise = 1}, {.noise = 2}, {.noise = 3}, {.noise = 4}, {.noise = 5}, {.noise = 6}};
  return all;
}
// Five steps of each of two, in no order.
inline const Planned& two_sizes() {
  static const Planned all = {{.noise = 1}, {.side = 96, .noise = 2}, {.noise = 3}, {.noise = 4},
      {.side = 96, .noise = 5}, {.side = 96, .noise = 6}, {.noise = 7}, {.side = 96, .noise = 8}, {.noise = 9},
      {.side = 96, .noise = 10}};
  return all;
}

struct Outcome {
  std::vector<std::uint32_t> losses;  // their bits
  at::Tensor weights;                 // on the CPU
  std::vector<at::Tensor> state;      // the optimizer's, on the CPU
  result::Json described, scale;
};

struct Trial {
  std::string graphs = "none";
  model::ModelConfig model = small_model();
  cuda::GraphDevice* device = &fake_graphs();
  train::OptimizerConfig optimizer = {};
  std::function<void(train::Parts&)> change = nullptr;
  std::optional<train::LossScaleConfig> scale = std::nullopt;
  std::size_t not_numbers = 1000;       // the step whose images are not
  comm::Communicator* ranks = nullptr;  // null: one alone
};

inline Outcome run(const Trial& setup, const Planned& batches) {
  emulation::check_order(false);  // device_step_test checks it in the same kernels
  const at::Device device = fake_device();
  const auto comm = comm::make_single();
  train::Parts parts;
  parts.device = device, parts.graphs = setup.device;
  parts.model = std::make_unique<model::MaskRcnn>(setup.model, ops_on(device), 5, device, nullptr, locked_memory());
  if (setup.scale) parts.scaler = std::make_unique<train::LossScaler>(*setup.scale, device);
  parts.step = std::make_unique<train::EagerStep>(*parts.model, train::ClearGradients{}, parts.scaler.get());
  parts.set_reducer(train::make_reducer({}, {.gradients = {}, .offsets = {}, .comm = *comm}));
  parts.optimizer = train::make_optimizer(setup.optimizer,
      {.store = parts.model->parameters(), .kernels = parameter_kernels_on(device), .scaler = parts.scaler.get()});
  if (setup.change) setup.change(parts);
  const auto runner = train::make_step_runner(setup.graphs, parts, setup.ranks ? *setup.ranks : *comm);
  result::PhaseClock clock;
  Outcome out;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    train::StepInputs in{
        .batch = small_batch(device, batches[i]), .rates = rates_on(device, 0.01 * (1 + static_cast<double>(i % 4)))};
    in.batch.draw = model::draw_key(9, static_cast<std::int64_t>(i)).to(device);
    if (i == setup.not_numbers) in.batch.images.fill_(std::numeric_limits<float>::quiet_NaN());
    int called = 0;
    const std::vector<at::Tensor> losses = runner->run(std::move(in), clock, [&] { ++called; });
    EXPECT_EQ(called, 1);
    for (const at::Tensor& l : losses) out.losses.push_back(std::bit_cast<std::uint32_t>(l.to(at::kCPU).item<float>()));
  }
  out.weights = parts.model->parameters().flat_values().detach().to(at::kCPU);
  for (const train::NamedTensor& t : parts.optimizer->state()) out.state.push_back(t.value.to(at::kCPU));
  out.described = runner->describe();
  if (parts.scaler) out.scale = parts.scaler->describe();
  return out;
}

// The run that most others below are compared with.
inline const Outcome& eager_steps() {
  static const Outcome once = run({}, one_size());
  return once;
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == b.numel() && std::memcmp(a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                                       static_cast<std::size_t>(a.numel()) * sizeof(float)) == 0;
}
inline void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_TRUE(same_bits(a.weights, b.weights));
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i) EXPECT_TRUE(same_bits(a.state[i], b.state[i])) << i;
}

// part -> why it is not recorded, "" where it is; for images of that side.
inline std::map<std::string, std::string> parts_of(const Outcome& o, std::int64_t side = 64) {
  std::map<std::string, std::string> all;
  for (const auto& shape : o.described["shapes"])
    if (shape["images"][2] == side)
      for (const auto& part : shape["parts"])
        all[part["part"]] = part.contains("not_recorded") ? part["not_recorded"].get<std::string>() : "";
  return all;
}

// The double, but for the n-th thing that it is asked to record or replay.
class Failing final : public cuda::GraphDevice {
 public:
  Failing(std::int64_t capture, std::int64_t replay) : capture_(capture), replay_(replay) {}
  std::unique_ptr<cuda::Graph> capture(const std::function<void()>& work) override {
    if (captures_++ != capture_) return std::make_unique<Replayed>(*this, fake_graphs().capture(work));
    // As CUDA does it: the work runs, something of it is refused, and nothing of it is done.
    EXPECT_THROW(fake_graphs().capture([&] {
      work();
      throw Error("planted");
    }),
        cuda::NotCapturable);
    throw cuda::NotCapturable("planted");
  }

 private:
  struct Replayed final : cuda::Graph {
    Replayed(Failing& owner, std::unique_ptr<cuda::Graph> inner) : owner(owner), inner(std::move(inner)) {}
    void replay() override {
      if (owner.replays_++ == owner.replay_) throw Error("The graph could not be replayed: planted.");
      inner->replay();
    }
    cuda::GraphSize size() const override { return inner->size(); }
    Failing& owner;
    std::unique_ptr<cuda::Graph> inner;
  };
  std::int64_t capture_, replay_, captures_ = 0, replays_ = 0;
};

}  // namespace ttt::test
