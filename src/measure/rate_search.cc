#include "measure/rate_search.h"

#include <cmath>
#include <cstdlib>

#include "result/batch_ladder.h"

namespace ttt::ablations {

double RateSearch::rate(std::int64_t power) const { return std::ldexp(guess_, static_cast<int>(power)); }

bool RateSearch::is_open(std::int64_t power) const { return std::abs(power) <= kFurthest && !tried_.contains(power); }

std::optional<std::int64_t> RateSearch::best_power() const {
  std::optional<std::int64_t> best;
  for (const auto& [power, epochs] : tried_)
    if (epochs && (!best || *epochs < *tried_.at(*best))) best = power;
  return best;
}

bool RateSearch::reaches(std::int64_t power) const {
  const auto at = tried_.find(power);
  return at != tried_.end() && at->second && *at->second <= result::kReachingWithin * *best_epochs();
}

std::int64_t RateSearch::end_of(std::int64_t from, std::int64_t direction) const {
  while (reaches(from + direction)) from += direction;
  return from;
}

std::vector<double> RateSearch::wanted() const {
  if (tried_.empty()) return {rate(0), rate(1)};
  std::vector<double> out;
  const auto add = [&](std::int64_t power) {
    if (is_open(power)) out.push_back(rate(power));
  };
  const auto best = best_power();
  if (!best) {  // lower first: a rate that is too high is the usual reason
    add(tried_.begin()->first - 1), add(tried_.rbegin()->first + 1);
    return out;
  }
  add(*best + 1), add(*best - 1);
  if (!out.empty()) return out;
  add(end_of(*best, 1) + 1), add(end_of(*best, -1) - 1);
  return out;
}

void RateSearch::add(double rate, std::optional<double> epochs) {
  tried_[std::llround(std::log2(rate / guess_))] = epochs;
}

bool RateSearch::best_is_known() const {
  const auto best = best_power();
  return best ? !is_open(*best - 1) && !is_open(*best + 1) : wanted().empty();
}

std::optional<double> RateSearch::best() const {
  const auto best = best_power();
  return best ? std::optional(rate(*best)) : std::nullopt;
}

std::optional<double> RateSearch::best_epochs() const {
  const auto best = best_power();
  return best ? tried_.at(*best) : std::nullopt;
}

}  // namespace ttt::ablations
