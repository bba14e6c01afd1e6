#include "measure/judge.h"

#include <algorithm>

namespace ttt::ablations {
namespace {

std::string joined(const std::vector<std::string>& v) {
  std::string out;
  for (const std::string& s : v) out += (out.empty() ? "" : "; ") + s;
  return out;
}

constexpr std::size_t kFewest = 8;  // intervals that prove anything together

// How many of n intervals of 95 % may miss what is there: 5 of 40, 2 of 20. Where each misses with 5 %, more than 5 of
// 40 do in 1.4 % of such proofs, and more than 2 of 20 in 7.5 %. Those of the harness miss less (harness/paired.h).
std::size_t allowed_misses(std::size_t n) { return n / 8; }

}  // namespace

void Judgement::add(const Pairing& pairing, const result::Comparison& r) {
  measured_ += r.status == "measured";
  not_supported_ += r.status == "not_supported";
  if (r.status == "same_build" || r.status == "promise_broken" || r.status == "incorrect")
    broken_.push_back(r.ablation + ", " + r.variant + ": " + r.reason);
  if (!pairing.built_alike || r.status != "measured") return;
  // A known effect: none, or the planted one, which must also be told from none.
  const double truth = (1 + pairing.variant.planted) / (1 + pairing.baseline.planted) - 1;
  const auto e = result::effect(r.samples);
  Proof& proof = proofs_[r.ablation];
  ++proof.n;
  const bool covers = e && e->low <= truth && truth <= e->high;
  proof.missed += !covers || (truth > 0 && e->low <= 0);
}

void Judgement::add(const result::ConvergenceRow& row) {
  trainings_ += row.trainings.size();
  if (!row.problem.empty()) broken_.push_back(row.ablation + ": " + row.problem);
}

harness::Outcome Judgement::outcome() const {
  std::vector<std::string> proven, disproven;
  for (const auto& [name, p] : proofs_) {
    const std::string counts =
        name + ": " + std::to_string(p.n - p.missed) + " of " + std::to_string(p.n) + " intervals say what is there, ";
    if (p.n < kFewest) proven.push_back(counts + "too few for a proof");
    else
      (p.missed <= allowed_misses(p.n) ? proven : disproven)
          .push_back(counts + std::to_string(allowed_misses(p.n)) + " may miss it");
  }
  if (!broken_.empty()) return {result::Verdict::kIncorrect, joined(broken_)};
  if (!disproven.empty()) return {result::Verdict::kIncorrect, joined(disproven)};
  if (measured_ + trainings_ == 0)
    return {
        result::Verdict::kNotSupported, "none of the " + std::to_string(not_supported_) + " comparisons can run here"};
  std::string text = std::to_string(measured_) + " comparisons measured, promises kept";
  if (trainings_ > 0) text += ", " + std::to_string(trainings_) + " trainings";
  if (not_supported_ > 0) text += ", " + std::to_string(not_supported_) + " not supported here";
  if (!proven.empty()) text += "; " + joined(proven);
  return {result::Verdict::kPassed, text};
}

}  // namespace ttt::ablations
