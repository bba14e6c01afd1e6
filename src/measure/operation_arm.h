// Sides that are no training step: an operation, and work of one rank while the others stand by.
#pragma once

#include "measure/ablation.h"

namespace ttt::ablations {

struct Operation {
  result::Json description;
  std::function<void(std::int64_t step)> run;  // the work of one step; on both sides the same for the same number
  // of the last step: what the gate compares. Asked after each turn, not timed
  std::function<std::vector<double>()> outputs;
};

// Runs the operation on every rank at the same time; a step takes what the slowest rank takes.
class OperationArm final : public Arm {
 public:
  // Collective.
  OperationArm(const Bench& bench, Operation operation);
  std::vector<double> block(int steps) override;
  result::Json describe() const override { return operation_.description; }
  const std::vector<double>& outputs() const override { return outputs_; }
  std::string place_of(std::size_t output) const override {
    return "turn " + std::to_string(output * turns_ / std::max<std::size_t>(1, outputs_.size()));
  }
  comm::Communicator& control() override { return *control_; }
  void start_counting() override { usage_ = {}, counted_ = 0; }
  Counters usage() override { return sum_over_ranks(usage_.per(counted_), *control_); }
  Counters operators(int steps) override;

 private:
  std::unique_ptr<comm::Communicator> control_;
  Operation operation_;
  std::vector<double> outputs_;
  Usage usage_;
  int threads_ = 1;
  std::size_t turns_ = 0;
  std::int64_t done_ = 0, counted_ = 0;
};

// Training on rank 0 alone, on all images of a global batch, while the other ranks stand by.
class AloneArm final : public Arm {
 public:
  explicit AloneArm(const Bench& bench);
  std::vector<double> block(int steps) override;
  result::Json describe() const override;
  const std::vector<double>& outputs() const override;
  std::string place_of(std::size_t output) const override;
  comm::Communicator& control() override { return *control_; }
  const std::vector<harness::PhaseTimes>& phases() const override { return phases_; }
  void start_counting() override;
  Counters usage() override;
  Counters operators(int steps) override;

 private:
  std::unique_ptr<comm::Communicator> control_;
  std::unique_ptr<Arm> inner_;  // null where this rank stands by
  std::vector<double> none_;
  std::vector<harness::PhaseTimes> phases_;  // rank 0's, on every rank
};

}  // namespace ttt::ablations
