// The replica check on real ranks and a real store of parameters.
#include "health/replicas.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/error.h"
#include "core/rng.h"
#include "tests/support/mpi_main.h"
#include "train/optimizers/sgd.h"

namespace ttt::train {
namespace {

struct Replica {
  Replica() : store(7) {
    store.add("body.weight", {5, 3, 3, 3}, model::normal(0.1), model::Layout::kChannelsLast);
    store.add("body.frozen", {40}, model::normal(0.1), model::Layout::kPlain, false);
    store.add_buffer("body.running_mean", {5}, 0.0f);
    store.add("head.weight", {33, 7}, model::normal(0.1));
    store.add("head.bias", {33}, model::constant(0.5f));
    store.finalise(at::kCPU);
    optimizer = std::make_unique<FusedSgd>(store, OptimizerConfig{});
    comm = test_world().communicator();
    check = std::make_unique<ReplicaCheck>(10, store, *optimizer, *comm, recorder,
        std::vector<std::string>(static_cast<std::size_t>(comm->size()), "node"));
  }
  // What the check says after so many steps; "" where it finds nothing.
  std::string after(std::int64_t steps) {
    try {
      check->step_ended({.step = steps}, {});
    } catch (const Incorrect& e) { return e.what(); }
    return "";
  }
  model::ParameterStore store;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<comm::Communicator> comm;
  result::RunRecorder recorder;
  std::unique_ptr<ReplicaCheck> check;
};

void flip(float& value, std::uint64_t bit) {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << bit));
}

TEST(ReplicaCheck, EqualReplicasPassAndAreCounted) {
  Replica r;
  for (std::int64_t step = 1; step <= 30; ++step) EXPECT_EQ(r.after(step), "");
  r.check->evaluation_started({.step = 30});  // just checked
  r.check->evaluation_started({.step = 35});
  r.check->run_ended({});
  const result::ReplicaChecksRecord health = r.recorder.snapshot().health.replica_checks.value();
  EXPECT_EQ(health.checks, 4);
  EXPECT_EQ(health.bytes, 4 * (2 * (135 + 231 + 33) + 40));
}

// One bit of one number on the last rank: of every tensor that is compared, anywhere in it.
TEST(ReplicaCheck, OneBitIsFoundAndNamed) {
  Replica r;
  const int last = r.comm->size() - 1;
  Stream draw(random_bits(2, Purpose::kTest, 42));
  const auto expect = [&](float* values, std::int64_t count, const std::string& name) {
    const std::uint64_t bit = draw.below(32);
    float& victim = values[draw.below(static_cast<std::uint64_t>(count))];
    if (r.comm->rank() == last) flip(victim, bit);
    const std::string said = r.after(20);
    if (r.comm->rank() == last) flip(victim, bit);
    EXPECT_EQ(said.find("The replicas differ after step 19 (after 0 steps they were equal): rank " +
                        std::to_string(last) + " (node node) against "),
        0u)
        << said;
    EXPECT_NE(said.find(", first in " + name + ". "), std::string::npos) << said;
    EXPECT_EQ(said.find("without a majority") != std::string::npos, r.comm->size() == 2) << said;
  };
  at::Tensor momentum = r.optimizer->state().at(0).value;
  for (int round = 0; round < 20; ++round)
    for (const model::Parameter& p : r.store.all()) {
      if (p.buffer) continue;
      expect(p.trainable ? r.store.flat_values().data_ptr<float>() + p.offset : p.value.data_ptr<float>(),
          p.trainable ? p.count : 40, p.name);
      if (p.trainable) expect(momentum.data_ptr<float>() + p.offset, p.count, "the momentum of " + p.name);
    }
  for (model::Parameter& p : r.store.all())
    if (p.buffer && r.comm->rank() == last) flip(p.value.data_ptr<float>()[0], 30);
  EXPECT_EQ(r.after(20), "");  // running statistics are each rank's own
}

TEST(ReplicaCheck, ChecksAtItsStepsOnly) {
  Replica r;
  EXPECT_EQ(r.after(10), "");
  if (r.comm->rank() == 0) flip(r.store.flat_values().data_ptr<float>()[0], 3);
  EXPECT_EQ(r.after(19), "");
  EXPECT_NE(r.after(20).find("(after 10 steps they were equal)"), std::string::npos);
  EXPECT_THROW(r.check->evaluation_started({.step = 25}), Incorrect);
}

}  // namespace
}  // namespace ttt::train
