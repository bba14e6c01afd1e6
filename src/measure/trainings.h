// Trainings of a comparison: one after the other on all ranks, or as many side by side as there are ranks.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "measure/ablation.h"
#include "result/comparison.h"

namespace ttt::ablations {

// How a measurement ends after a signal.
inline constexpr const char* kInterruptedSentence = "Interrupted. What was measured until then is in the result.";

// A training to be made.
struct Job {
  train::Recipe recipe;
  const Variant* variant = nullptr;  // whose components it has; outlives the job
};

// A training of which nothing came, since a signal ended it, has no `training`.
struct Made {
  std::optional<result::Training> training;

  template <class Self, class Visitor> static void fields(Self& m, Visitor&& v) {
    v.optional("training", m.training, "");
  }
};

// The target of a training, and which weights are evaluated.
struct TrainedFor {
  result::Metrics target;
  bool averaged = false;  // averages of the weights are evaluated (averaged_weights.h)
};

// Collective over `team`, to the recipe's epochs or until its targets are reached. Throws Interrupted after a signal,
// and Incorrect where a loss is not finite. `accuracy` of what it returns has every evaluation.
result::Training train_to(
    const Job& job, const TrainedFor& wanted, const comm::Team& team, const harness::RunContext& context);

class Trainings {
 public:
  using Train = std::function<result::Training(const Job& job, const comm::Team& team)>;
  // side_by_side: each training on one rank, with the whole global batch. `world` outlives it.
  Trainings(const comm::World& world, bool side_by_side);
  std::int64_t at_a_time() const { return side_by_side_ ? world_.size() : 1; }
  // In the jobs' order; where a signal came, none after it. A loss that is not finite is the training's `problem`.
  // Collective: every rank has all of them.
  std::vector<Made> make(std::span<const Job> jobs, const Train& train);

 private:
  comm::Team by_itself() const;
  std::vector<std::string> gathered(const std::string& text);

  const comm::World& world_;
  const bool side_by_side_;
  const std::unique_ptr<comm::Communicator> control_;
};

// For people: "lars: lamb, seed 3: progress 0.812 after 1.00 epochs, 22.1 s (...)", or its problem.
std::string training_text(const std::string& ablation, const result::Training& training, const result::Metrics& target);

}  // namespace ttt::ablations
