// One side of a comparison that is a whole training run, step by step.
#pragma once

#include "ablations/runner/ablation.h"
#include "harness/paired.h"

namespace ttt::ablations {

class TrainArm final : public harness::Arm {
 public:
  // Collective.
  TrainArm(const train::Recipe& recipe, const Variant& variant, const comm::World& world, const harness::RunContext& context);

  std::vector<double> block(int steps) override;
  result::Json describe() const { return ::ttt::describe(run_); }

  // The five losses of every step so far, one step behind the other; this rank's.
  const std::vector<double>& losses() const { return losses_; }
  // From here on, phases count.
  void start_counting() { phase_s_ = {}, counted_ = 0; }
  // Mean seconds of a step in each phase since then, mean over ranks. Collective.
  std::array<double, result::kPhaseNames.size()> phases();
  comm::Communicator& control() { return *run_.control; }

 private:
  Run run_;
  double planted_ = 0;
  train::StepLoop loop_;
  std::vector<double> losses_;
  std::array<double, result::kPhaseNames.size()> phase_s_{};
  std::int64_t counted_ = 0;
};

}  // namespace ttt::ablations
