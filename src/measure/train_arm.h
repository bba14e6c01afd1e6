// One side of a comparison that is a whole training run, step by step.
#pragma once

#include "measure/ablation.h"

namespace ttt::ablations {

class TrainArm final : public Arm {
 public:
  // Collective over `team`.
  TrainArm(const Bench& bench, const Variant& variant, const comm::Team& team);

  std::vector<double> block(int steps) override;
  result::Json describe() const override { return ::ttt::describe(run_); }
  // The losses of every step, one step behind the other.
  const std::vector<double>& outputs() const override { return losses_; }
  std::string place_of(std::size_t output) const override {
    return "step " + std::to_string(output / run_.parts.model->loss_names().size());
  }
  comm::Communicator& control() override { return *run_.control; }

  const std::vector<harness::PhaseTimes>& phases() const override { return phases_; }

  void start_counting() override { usage_ = {}, counted_ = 0, straggler_sum_ = 0; }
  Counters usage() override;
  Counters operators(int steps) override;

 private:
  double straggler_indices(const std::vector<double>& busy);

  Run run_;
  std::vector<std::unique_ptr<train::Listener>> listeners_;  // of the recipe; their time is part of the step
  double planted_ = 0;
  std::function<void()> enter_;
  train::StepLoop loop_;
  std::vector<double> losses_;
  std::vector<harness::PhaseTimes> phases_;  // of the last block's steps
  Usage usage_;
  double straggler_sum_ = 0;
  std::int64_t counted_ = 0;
};

}  // namespace ttt::ablations
