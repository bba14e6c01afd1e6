// Evaluates averages of the weights in place of the newest ones.
#pragma once

#include <utility>
#include <vector>

#include "models/parameters.h"
#include "train/listener.h"

namespace ttt::ablations {

// A polynomial-decay average (Shamir and Zhang 2013, section 4): after update t the average moves by
// (n + 1) / (t + n) of the way to the weights. It covers about the last tenth of all updates, whatever their number, so
// progress over log(steps) keeps its slope. The noise of single updates, which a decay of the learning rate would take
// away at the end of a run, is out of it.
class AveragedWeights final : public train::Listener {
 public:
  explicit AveragedWeights(model::ParameterStore& store);

  void step_ended(const train::Position&, const result::StepSample&) override;
  bool needs_sync(const train::Position&) const override { return true; }
  void evaluation_started(const train::Position&) override { exchange(); }
  void evaluation_predicted(const train::Position&, bool) override { exchange(); }
  void exchange();  // the model's values for the averages, and back

  static constexpr double kDecay = 8;  // n

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> values_;  // of the model, and their averages
  std::int64_t updates_ = 0;
};

}  // namespace ttt::ablations
