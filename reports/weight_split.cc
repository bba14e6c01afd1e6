#include "reports/weight_split.h"

#include <algorithm>
#include <cmath>

#include "reports/keys.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::TelemetryGroup;

struct Sgd {
  double momentum = 0, decay = 0;
};
std::optional<Sgd> sgd_of(const RunRecord& run) {
  const auto setting = [&](const char* key) { return member_at(run.recipe.settings, key); };
  const result::Json* kind = setting("train.optimizer.kind");
  const result::Json* momentum = setting("train.optimizer.momentum");
  const result::Json* decay = setting("train.optimizer.weight_decay");
  const result::Json* nesterov = setting("train.optimizer.nesterov");
  if (!kind || *kind != "sgd" || !momentum || !decay || (nesterov && *nesterov == true)) return std::nullopt;
  return Sgd{momentum->get<double>(), decay->get<double>()};
}

// By the steps of the run, which are all there.
double rate_at(const RunRecord& run, std::int64_t step) {
  const auto at = std::ranges::lower_bound(run.steps.step, step);
  return at == run.steps.step.end() ? 0
                                    : run.steps.learning_rate[static_cast<std::size_t>(at - run.steps.step.begin())];
}

}  // namespace

Cell growth_cell(double per_step) { return {fixed("%+.3g %%", per_step * 1e5), per_step * 1e5, "% per 1000 steps"}; }

std::optional<WeightSplit> weight_split(const RunRecord& run, const TelemetryGroup& g) {
  const auto sgd = sgd_of(run);
  const std::size_t n = g.weight_gradient.size();
  if (!sgd || n < 2 || sgd->momentum >= 1 || g.weight_norm.front() <= 0 || g.weight_norm.back() <= 0)
    return std::nullopt;
  const std::vector<std::int64_t>& step = run.telemetry->step;
  const double memory = (1 + sgd->momentum) / (1 - sgd->momentum);
  WeightSplit s;
  for (std::size_t i = 0; i < n; ++i) {
    const double square = g.weight_norm[i] * g.weight_norm[i], rate = rate_at(run, step[i]) / (1 - sgd->momentum);
    if (square <= 0) return std::nullopt;
    s.gradient -= rate * g.weight_gradient[i] / square;
    s.decay -= rate * sgd->decay;
    s.length += memory * g.update_norm[i] * g.update_norm[i] / (2 * square);
  }
  for (double* part : {&s.gradient, &s.decay, &s.length}) *part /= static_cast<double>(n);
  s.measured = std::log(g.weight_norm.back() / g.weight_norm.front()) / static_cast<double>(step.back() - step.front());
  return s;
}

std::optional<Table> split_table(const RunRecord& run) {
  Table out{.header = {"group", "by the gradient", "by the decay", "by the update's length", "sum", "growth"},
      .right = {false, true, true, true, true, true}};
  for (const TelemetryGroup& g : run.telemetry->groups)
    if (const auto s = weight_split(run, g))
      out.rows.push_back({g.name, growth_cell(s->gradient), growth_cell(s->decay), growth_cell(s->length),
          growth_cell(s->gradient + s->decay + s->length), growth_cell(s->measured)});
  return out.rows.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace ttt::reports
