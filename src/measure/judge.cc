#include "measure/judge.h"

#include <algorithm>

#include "core/text.h"

namespace ttt::ablations {

using result::counted;
using result::joined;

void Judgement::add(const result::Comparison& r) {
  measured_ += r.status == "measured";
  not_supported_ += r.status == "not_supported";
  if (r.status == "same_build" || r.status == "promise_broken" || r.status == "incorrect")
    broken_.push_back(r.ablation + ", " + r.variant + ": " + r.reason);
  if (r.known_effect && r.status == "measured") result::count(self_tests_, r);
}

void Judgement::add(const result::ConvergenceRow& row) {
  trainings_ += row.trainings.size();
  if (!row.problem.empty()) broken_.push_back(row.ablation + ": " + row.problem);
}

void Judgement::add(const result::BatchLadder& ladder) { trainings_ += ladder.trainings.size(); }

harness::Outcome Judgement::outcome() const {
  std::vector<std::string> proven, disproven;
  for (const result::SelfTest& test : self_tests_)
    (test.holds() || !test.is_proof() ? proven : disproven).push_back(test.ablation + ": " + test.text());
  if (!broken_.empty()) return {result::Verdict::kIncorrect, joined(broken_, "; ")};
  if (!disproven.empty()) return {result::Verdict::kIncorrect, joined(disproven, "; ")};
  if (measured_ + trainings_ == 0) return {result::Verdict::kNotSupported, "no comparison can run here"};
  std::string text = counted(measured_, "comparison") + " measured, promises kept";
  if (trainings_ > 0) text += ", " + counted(trainings_, "training");
  if (not_supported_ > 0) text += ", " + std::to_string(not_supported_) + " not supported here";
  if (!proven.empty()) text += "; " + joined(proven, "; ");
  return {result::Verdict::kPassed, text};
}

}  // namespace ttt::ablations
