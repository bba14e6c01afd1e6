#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_schedule() {
  const auto kind = [](const char* name) {
    return Variant{.name = name, .change = [name](train::Recipe& r) {
                     train::ScheduleConfig& s = r.train.schedule;
                     s.kind = name, s.decay_steps.clear(), s.decay_epochs.clear();
                   }};
  };
  // Of the published run's some 17,250 iterations its rate falls after 12,000 and 16,000.
  const Variant decays{.name = "two_decays", .change = [](train::Recipe& r) {
                         train::ScheduleConfig& s = r.train.schedule;
                         s.kind = "step_decay", s.decay_factor = 0.1, s.decay_steps.clear();
                         s.decay_epochs = {0.696 * r.train.epochs, 0.928 * r.train.epochs};
                       }};
  Variant constant = kind("step_decay");
  constant.name = "constant";
  return {.name = "schedule",
      .question = "How many steps does a rate that falls smoothly save against one that falls twice by ten?",
      .claim = "cosine instead of steps, with box weights of 20, 20, 10, 10: 3,000 fewer steps, 58 -> 48 minutes",
      .source = "AWS blog on SageMakerCV, CUDA Graphs and Debugger",
      .expectation =
          "Each ends at a low rate, which is worth most: little difference between those that fall, and much against "
          "a constant rate.",
      .promise = Promise::kOtherWork,
      .variants = {decays, kind("cosine"), kind("linear"), kind("poly"), constant},
      .convergence = {.seeds = 12, .ends = kSeveralEnds}};
}

}  // namespace ttt::ablations
