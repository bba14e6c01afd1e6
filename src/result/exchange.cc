#include "result/exchange.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace ttt::result {
namespace {

constexpr std::size_t kFewestEvaluations = 3;  // of a training: two of them have no distance to their line

double share(const AccuracyPoint& point, const Metrics& target) {
  double least = std::numeric_limits<double>::infinity();
  for (const Metric& bound : target) {
    const double* value = find(point.metrics, bound.name);
    least = std::min(least, (value ? *value : 0) / bound.value);
  }
  return least;
}

double mean_of(const Training& t, const std::string& metric) {
  std::vector<double> values;
  for (const AccuracyPoint& p : t.accuracy) {
    const double* value = find(p.metrics, metric);
    values.push_back(value ? *value : 0);
  }
  return sum(values) / static_cast<double>(values.size());
}

Interval around(const Estimate& e, double t) { return {e.value, e.value - t * e.error, e.value + t * e.error}; }

// One slope through the evaluations of each training around its own mean.
std::optional<Estimate> common_slope(const std::vector<const Training*>& trainings, const Metrics& target) {
  double xx = 0, xy = 0, yy = 0;
  std::size_t points = 0;
  for (const Training* t : trainings) {
    if (t->accuracy.size() < kFewestEvaluations) return std::nullopt;
    std::vector<double> x, y;
    for (const AccuracyPoint& p : t->accuracy) x.push_back(std::log(p.epochs)), y.push_back(share(p, target));
    const auto n = static_cast<double>(x.size());
    const double x_mean = sum(x) / n, y_mean = sum(y) / n;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double dx = x[i] - x_mean, dy = y[i] - y_mean;
      xx += dx * dx, xy += dx * dy, yy += dy * dy;
    }
    points += x.size();
  }
  if (xx <= 0) return std::nullopt;
  const double slope = xy / xx, freedom = static_cast<double>(points - trainings.size()) - 1;
  return Estimate{slope, std::sqrt(std::max(0.0, yy - slope * xy) / freedom / xx)};
}

// The relative change of the steps that a difference of progress stands for.
struct Steps {
  Interval change;
  Estimate difference;
  double slope = 0, t = 0;
};
std::optional<Steps> exchanged(
    const std::vector<double>& differences, const std::vector<const Training*>& trainings, const ConvergenceRow& row) {
  if (differences.size() < kFewestPairs) return std::nullopt;
  const auto slope = common_slope(trainings, row.target);
  if (!slope) return std::nullopt;
  const double t = student_t_quantile((1 + row.confidence) / 2, static_cast<int>(differences.size()) - 1);
  const Estimate d = mean_estimate(differences);
  const auto steps = ratio_interval({-d.value, d.error}, *slope, t);
  if (!steps) return std::nullopt;
  return Steps{{std::expm1(steps->estimate), std::expm1(steps->low), std::expm1(steps->high)}, d, slope->value, t};
}

const Training* training_of(const ConvergenceRow& row, const std::string& variant, std::int64_t seed) {
  const auto at = std::find_if(row.trainings.begin(), row.trainings.end(),
      [&](const Training& t) { return t.variant == variant && t.seed == seed && !t.accuracy.empty(); });
  return at == row.trainings.end() ? nullptr : &*at;
}

// Trainings of the variant: those that diverged, and all.
std::pair<std::size_t, std::size_t> diverged(const ConvergenceRow& row, const std::string& variant) {
  std::pair<std::size_t, std::size_t> n{0, 0};
  for (const Training& t : row.trainings)
    if (t.variant == variant) n.first += !t.problem.empty(), ++n.second;
  return n;
}

// A combination counts + or -: of a main effect + where the factor is on; of an interaction + where both or none are.
FactorEffect effect_of(const ConvergenceRow& row, const std::vector<std::string>& factors) {
  FactorEffect out{.factors = factors};
  std::vector<const Training*> all;
  std::vector<double> contrasts;
  for (const Training& first : row.trainings) {
    if (first.variant != row.baseline) continue;
    std::vector<const Training*> of_seed;
    double contrast = 0;
    for (const Combination& c : row.combinations) {
      const Training* t = training_of(row, c.variant, first.seed);
      if (!t) break;
      of_seed.push_back(t);
      double sign = 1;
      for (const std::string& f : factors)
        if (std::find(c.factors.begin(), c.factors.end(), f) == c.factors.end()) sign = -sign;
      contrast += sign * progress(*t, row.target);
    }
    if (of_seed.size() != row.combinations.size()) continue;
    all.insert(all.end(), of_seed.begin(), of_seed.end());
    // so many combinations of the other factors is the mean over
    contrasts.push_back(contrast / static_cast<double>(row.combinations.size() >> factors.size()));
  }
  out.seeds = contrasts.size();
  if (const auto steps = exchanged(contrasts, all, row)) out.steps = steps->change;
  else out.seeds = 0;
  return out;
}

}  // namespace

double progress(const Training& t, const Metrics& target) {
  if (t.accuracy.empty()) throw std::invalid_argument("progress of a training without evaluations");
  std::vector<double> shares;
  for (const AccuracyPoint& p : t.accuracy) shares.push_back(share(p, target));
  return sum(shares) / static_cast<double>(shares.size());
}

std::optional<Exchange> exchange(const ConvergenceRow& row, const std::string& variant) {
  if (diverged(row, variant).first > 0) return std::nullopt;
  std::vector<const Training*> both;
  std::vector<double> differences;
  std::map<std::string, std::vector<double>> by_metric, of_baseline;
  for (const Training& a : row.trainings) {
    if (a.variant != row.baseline || a.accuracy.empty()) continue;
    const Training* b = training_of(row, variant, a.seed);
    if (!b) continue;
    both.insert(both.end(), {&a, b});
    differences.push_back(progress(*b, row.target) - progress(a, row.target));
    for (const Metric& bound : row.target) {
      by_metric[bound.name].push_back(mean_of(*b, bound.name) - mean_of(a, bound.name));
      of_baseline[bound.name].push_back(mean_of(a, bound.name));
    }
  }
  const auto steps = exchanged(differences, both, row);
  if (!steps) return std::nullopt;
  Exchange e{.pairs = differences.size(),
      .progress = around(steps->difference, steps->t),
      .slope = steps->slope,
      .steps = steps->change};
  for (const auto& [name, values] : by_metric) e.metrics[name] = around(mean_estimate(values), steps->t);
  for (const auto& [name, values] : of_baseline) e.means[name] = mean_estimate(values).value;
  const double error = steps->difference.error / steps->slope;  // of the mean, in log(steps)
  e.deviation = error * std::sqrt(static_cast<double>(differences.size()));
  const double nine_of_ten = student_t_quantile(0.9, static_cast<int>(differences.size()) - 1);
  e.detectable = std::expm1((steps->t + nine_of_ten) * error);
  return e;
}

std::string no_exchange_text(const ConvergenceRow& row, const std::string& variant) {
  const auto [lost, all] = diverged(row, variant);
  if (lost > 0) return "diverged in " + std::to_string(lost) + " of " + std::to_string(all);
  return "too few trainings, or accuracy that does not rise";
}

std::vector<FactorEffect> factor_effects(const ConvergenceRow& row) {
  std::vector<std::string> names;
  for (const Combination& c : row.combinations) {
    if (diverged(row, c.variant).first > 0) return {};
    if (c.factors.size() == 1) names.push_back(c.factors[0]);
  }
  std::vector<FactorEffect> out;
  for (const std::string& f : names) out.push_back(effect_of(row, {f}));
  for (std::size_t f = 0; f < names.size(); ++f)
    for (std::size_t g = f + 1; g < names.size(); ++g) out.push_back(effect_of(row, {names[f], names[g]}));
  std::erase_if(out, [](const FactorEffect& e) { return e.seeds == 0; });
  return out;
}

}  // namespace ttt::result
