#include "reports/phases.h"

#include <algorithm>

#include "core/statistics.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;

struct Phase {
  std::int64_t first_step = 0;
  double short_side = 0;
  std::int64_t images_per_rank = 0;
  std::vector<double> rates;  // images/s of its steps
};

std::vector<Phase> phases_of(const RunRecord& r) {
  std::vector<Phase> phases;
  const Json::json_pointer at("/loader/phases");
  if (!r.built.contains(at)) return phases;
  for (const Json& phase : r.built.at(at))
    phases.push_back({.first_step = phase.at("first_step").get<std::int64_t>(),
        .short_side = phase.at("short_side").get<double>(),
        .images_per_rank = phase.at("images_per_rank").get<std::int64_t>(),
        .rates = {}});
  for (std::size_t k = 0; !phases.empty() && k < r.steps.size(); ++k) {
    if (r.steps.step_s[k] <= 0) continue;
    const auto next =
        std::find_if(phases.begin() + 1, phases.end(), [&](const Phase& p) { return p.first_step > r.steps.step[k]; });
    std::prev(next)->rates.push_back(static_cast<double>(r.steps.images[k]) / r.steps.step_s[k]);
  }
  return phases;
}

}  // namespace

Document phase_blocks(const RunRecord& r) {
  Document d;
  const std::vector<Phase> phases = phases_of(r);
  if (phases.empty()) return d;
  Table t{.header = {"from step", "short side", "images a rank", "images/s", "speed-up", "fewer pixels"},
      .right = std::vector<bool>(6, true)};
  const Phase& last = phases.back();
  for (const Phase& p : phases) {
    if (p.rates.empty()) continue;
    const double rate = median(p.rates), side = last.short_side / p.short_side;
    t.rows.push_back({whole(p.first_step), number("%.0f", p.short_side), whole(p.images_per_rank), number("%.1f", rate),
        last.rates.empty() ? Cell("-") : number("%.2f", rate / median(last.rates)), number("%.2f", side * side)});
  }
  d.push_back(Heading{"Phases"});
  d.push_back(std::move(t));
  return d;
}

}  // namespace ttt::reports
