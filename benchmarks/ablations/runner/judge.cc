#include "ablations/runner/judge.h"

#include <algorithm>

namespace ttt::ablations {
namespace {

std::string joined(const std::vector<std::string>& v) {
  std::string out;
  for (const std::string& s : v) out += (out.empty() ? "" : "; ") + s;
  return out;
}

// How many of n intervals of 95 % may miss what is there: 5 of 40, 2 of 20. Of 40 true intervals more than 5 miss in 1.4 % of such proofs.
std::size_t allowed_misses(std::size_t n) { return std::max<std::size_t>(1, n == 20 ? 2 : n / 8); }

}  // namespace

void Judgement::add(const Ablation& ablation, const std::vector<result::Comparison>& rows) {
  std::size_t n = 0, missed = 0;
  for (const result::Comparison& r : rows) {
    measured_ += r.status == "measured";
    not_supported_ += r.status == "not_supported";
    if (r.status == "same_build" || r.status == "promise_broken") broken_.push_back(r.ablation + ", " + r.variant + ": " + r.reason);
    if (!ablation.built_alike || r.status != "measured") continue;
    // A known effect: none, or the planted one, which must also be told from none.
    const double truth = ablation.variants[1].planted;
    const auto e = result::effect(r.samples);
    ++n;
    missed += !e || e->low > truth || e->high < truth || (truth > 0 && e->low <= 0);
  }
  if (n == 0) return;
  const std::string text = ablation.name + ": " + std::to_string(n - missed) + " of " + std::to_string(n) +
                           " intervals say what is there, " + std::to_string(allowed_misses(n)) + " may miss it";
  (missed <= allowed_misses(n) ? proofs_ : disproofs_).push_back(text);
}

harness::Outcome Judgement::outcome() const {
  if (!broken_.empty()) return {result::Verdict::kIncorrect, joined(broken_)};
  if (!disproofs_.empty()) return {result::Verdict::kIncorrect, joined(disproofs_)};
  if (measured_ == 0) return {result::Verdict::kNotSupported, "none of the " + std::to_string(not_supported_) + " comparisons can run here"};
  std::string text = std::to_string(measured_) + " comparisons measured, promises kept";
  if (not_supported_ > 0) text += ", " + std::to_string(not_supported_) + " not supported here";
  if (!proofs_.empty()) text += "; " + joined(proofs_);
  return {result::Verdict::kPassed, text};
}

}  // namespace ttt::ablations
