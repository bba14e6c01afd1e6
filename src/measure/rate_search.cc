#include "measure/rate_search.h"

#include <cmath>

namespace ttt::ablations {

bool RateSearch::is_open(double rate) const {
  return std::abs(std::log2(rate / guess_)) < kFurthest + 0.5 && !tried_.contains(rate);
}

// Doubling and halving are exact, so rates are keys.
std::vector<double> RateSearch::wanted() const {
  if (tried_.empty()) return {guess_, 2 * guess_};
  std::vector<double> out;
  const auto add = [&](double rate) {
    if (is_open(rate)) out.push_back(rate);
  };
  const auto found = result::reaching_rates(tried_);
  if (!found) {  // lower first: a rate that is too high is the usual reason
    add(tried_.begin()->first / 2), add(2 * tried_.rbegin()->first);
    return out;
  }
  add(2 * found->best), add(found->best / 2);
  if (!out.empty()) return out;
  add(2 * found->high), add(found->low / 2);
  return out;
}

void RateSearch::add(double rate, std::optional<double> epochs) { tried_[rate] = epochs; }

bool RateSearch::best_is_known() const {
  const auto found = best();
  return found ? !is_open(*found / 2) && !is_open(2 * *found) : wanted().empty();
}

std::optional<double> RateSearch::best() const {
  const auto found = result::reaching_rates(tried_);
  return found ? std::optional(found->best) : std::nullopt;
}

std::optional<double> RateSearch::best_epochs() const {
  const auto found = best();
  return found ? tried_.at(*found) : std::nullopt;
}

}  // namespace ttt::ablations
