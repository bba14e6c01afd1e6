// Checks that all ranks still train one model. A reduction that goes wrong on one rank, or a bit that flips in its memory, lets the replicas
// drift apart without any other sign: every rank goes on with finite losses.
//
// Every so many steps each rank hashes its weights and momentum, and one all-reduce of four numbers compares the hashes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "models/parameters.h"
#include "result/run_recorder.h"
#include "train/listener.h"
#include "train/optimizers/optimizer.h"

namespace ttt::train {

class ReplicaCheck final : public Listener {
 public:
  // All but `nodes` (by rank) outlive it. `every` steps; 0: never.
  ReplicaCheck(std::int64_t every, model::ParameterStore& store, const Optimizer& optimizer, comm::Communicator& comm, result::RunRecorder& recorder,
               std::vector<std::string> nodes);

  // Collective. Throw Incorrect, on every rank alike, where the replicas differ: the ranks, the step and the first tensor that does. Before an
  // evaluation too, so that no accuracy is reported of a run whose ranks have different models.
  void step_ended(const Position&, const result::StepSample&) override;
  bool looks_at(const Position& at) const override { return every_ > 0 && at.step % every_ == 0; }
  void evaluation_started(const Position&) override;
  void run_ended(const Ending&) override;  // health.replica_checks: how often, and what it cost

 private:
  void check(const Position& at);
  std::vector<std::uint64_t> hashes() const;  // of each tensor: all weights, then the state of the optimizer
  bool is_flat(const NamedTensor& t) const { return t.value.sizes() == store_.flat_values().sizes(); }  // in the parameters' layout
  std::string part_name(std::size_t part) const;
  std::string describe(const std::vector<std::uint64_t>& own);  // collective: what differs; the same text on every rank

  std::int64_t every_;
  model::ParameterStore& store_;
  const Optimizer& optimizer_;
  comm::Communicator& comm_;
  result::RunRecorder& recorder_;
  std::vector<std::string> nodes_;
  std::vector<const model::Parameter*> weights_;  // in the order of registration, buffers left out: running statistics are each rank's own
  std::int64_t checks_ = 0, equal_at_ = 0;        // steps done when the replicas were last found equal
  double hash_s_ = 0, total_s_ = 0;
};

}  // namespace ttt::train
