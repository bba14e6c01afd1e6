#include "result/batch_ladder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/text.h"

namespace ttt::result {
namespace {

// Of ln E around the best curve with this B_crit.
struct Fit {
  double log_least_epochs = 0, squares = 0;
};
Fit fit(const std::vector<Rung>& all, double critical) {
  std::vector<double> rest;
  for (const Rung& r : all)
    for (const double e : r.epochs) rest.push_back(std::log(e) - std::log1p(static_cast<double>(r.batch) / critical));
  Fit f{.log_least_epochs = sum(rest) / static_cast<double>(rest.size())};
  for (const double x : rest) f.squares += (x - f.log_least_epochs) * (x - f.log_least_epochs);
  return f;
}

}  // namespace

std::optional<double> rate_epochs(std::span<const LadderTraining> trainings) {
  std::vector<double> logs;
  for (const LadderTraining& t : trainings) {
    if (!t.epochs) return std::nullopt;
    if (t.trial) logs.push_back(std::log(*t.epochs));
  }
  if (logs.empty()) return std::nullopt;
  return std::exp(sum(logs) / static_cast<double>(logs.size()));
}

std::optional<ReachingRates> reaching_rates(const EpochsByRate& epochs) {
  auto best = epochs.end();
  for (auto e = epochs.begin(); e != epochs.end(); ++e)
    if (e->second && (best == epochs.end() || *e->second < *best->second)) best = e;
  if (best == epochs.end()) return std::nullopt;
  const auto reaches = [&](const auto& e) { return e.second && *e.second <= kReachingWithin * *best->second; };
  auto low = best, high = best;
  while (low != epochs.begin() && reaches(*std::prev(low))) --low;
  while (std::next(high) != epochs.end() && reaches(*std::next(high))) ++high;
  return ReachingRates{best->first, low->first, high->first};
}

void put(std::vector<BatchLadder>& ladders, const BatchLadder& ladder) {
  const auto place = std::ranges::find_if(
      ladders, [&](const BatchLadder& l) { return l.ablation == ladder.ablation && l.variant == ladder.variant; });
  if (place == ladders.end()) ladders.push_back(ladder);
  else *place = ladder;
}

std::vector<Rung> rungs(const BatchLadder& ladder) {
  std::map<std::int64_t, std::map<double, std::vector<LadderTraining>>> by_batch;
  for (const LadderTraining& t : ladder.trainings) by_batch[t.batch][t.learning_rate].push_back(t);
  std::vector<Rung> out;
  for (const auto& [batch, by_rate] : by_batch) {
    Rung& rung = out.emplace_back(Rung{.batch = batch});
    EpochsByRate epochs;
    for (const auto& [rate, all] : by_rate) epochs[rate] = rate_epochs(all);
    rung.rates = reaching_rates(epochs);
    for (const auto& [rate, all] : by_rate)
      for (const LadderTraining& t : all)
        if (t.trial || !rung.rates || rate != rung.rates->best) {
          ++rung.trials;
        } else {
          ++rung.repeats, rung.epochs.push_back(*t.epochs);
        }
  }
  return out;
}

std::optional<Interval> epochs_ratio(const BatchLadder& ladder, std::int64_t batch, std::int64_t than) {
  const std::vector<Rung> all = rungs(ladder);
  std::vector<double> logs[2];
  for (const Rung& r : all)
    for (const int side : {0, 1})
      if (r.batch == (side == 0 ? than : batch)) {
        for (const double e : r.epochs) logs[side].push_back(std::log(e));
      }
  const auto shift = rank_sum_interval(logs[0], logs[1]);
  if (!shift) return std::nullopt;
  return Interval{std::exp(shift->estimate), std::exp(shift->low), std::exp(shift->high)};
}

std::optional<CriticalBatch> critical_batch(const BatchLadder& ladder) {
  std::vector<Rung> all = rungs(ladder);
  std::erase_if(all, [](const Rung& r) { return r.epochs.empty(); });
  if (all.size() < 3) return std::nullopt;
  std::size_t n = 0;
  for (const Rung& r : all) n += r.epochs.size();
  constexpr double kBeyond = 64, kStep = 1.005;
  std::vector<double> candidates;
  for (double b = static_cast<double>(all.front().batch) / kBeyond; b < static_cast<double>(all.back().batch) * kBeyond;
       b *= kStep)
    candidates.push_back(b);
  const auto worse = [&](double a, double b) { return fit(all, a).squares < fit(all, b).squares; };
  const double best = *std::min_element(candidates.begin(), candidates.end(), worse);
  const Fit at_best = fit(all, best);
  const auto freedom = static_cast<int>(n) - 2;
  const double t = student_t_quantile(0.975, freedom);  // squared, the F test's for one parameter
  const double most = at_best.squares * (1 + t * t / freedom);
  const auto holds = [&](double b) { return fit(all, b).squares <= most; };
  const auto low = std::find_if(candidates.begin(), candidates.end(), holds);
  const auto high = std::find_if(candidates.rbegin(), candidates.rend(), holds);
  if (low == candidates.begin() || high == candidates.rbegin()) return std::nullopt;
  return CriticalBatch{.images = {best, *low, *high},
      .least_epochs = std::exp(at_best.log_least_epochs),
      .deviation = std::sqrt(at_best.squares / freedom)};
}

std::string critical_batch_text(const BatchLadder& ladder) {
  const auto c = critical_batch(ladder);
  if (!c) return "critical batch not known: it takes three batches that reach the target, on both sides of it";
  return fixed("critical batch %.3g images (%.3g to %.3g)", c->images.estimate, c->images.low, c->images.high) +
         fixed(", %.2f epochs at the least", c->least_epochs) +
         fixed(", deviation of one training %.0f %%", 100 * c->deviation);
}

}  // namespace ttt::result
