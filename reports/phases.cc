#include "reports/phases.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "reports/numbers.h"
#include "result/time_factors.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;

struct Phase {
  double begin = 0;  // epochs
  double short_side = 0;
  std::vector<double> rates;  // images/s of its steps
};

std::vector<double> numbers_at(const RunRecord& r, const char* key) {
  const Json& settings = r.recipe.settings;
  const Json::json_pointer at("/train/phases/" + std::string(key));
  return settings.contains(at) ? settings.at(at).get<std::vector<double>>() : std::vector<double>();
}

// As data::TrainOrder counts them; with images grouped by aspect it may be one fewer or more.
double steps_per_epoch(const RunRecord& r) {
  const Json& settings = r.recipe.settings;
  const auto batch = settings.value(Json::json_pointer("/train/global_batch"), 0.0);
  const bool wraps = settings.value(Json::json_pointer("/data/last_batch"), "drop") == "wrap";
  if (batch <= 0) return 0;
  const double steps = result::train_images_of(r) / batch;
  return wraps ? std::ceil(steps) : std::floor(steps);
}

std::vector<Phase> phases_of(const RunRecord& r) {
  const std::vector<double> epochs = numbers_at(r, "epochs"), sides = numbers_at(r, "short_side");
  std::vector<Phase> phases;
  if (sides.empty() || sides.size() != epochs.size()) return phases;
  const double epoch_steps = steps_per_epoch(r);
  if (epoch_steps <= 0) return phases;
  double begin = 0;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    phases.push_back({.begin = begin, .short_side = sides[i], .rates = {}});
    begin += epochs[i];
  }
  for (std::size_t k = 0; k < r.steps.size(); ++k) {
    if (r.steps.step_s[k] <= 0) continue;
    const auto step = static_cast<double>(r.steps.step[k]);
    const auto next = std::find_if(
        phases.begin(), phases.end(), [&](const Phase& p) { return std::round(p.begin * epoch_steps) > step; });
    std::prev(next)->rates.push_back(static_cast<double>(r.steps.images[k]) / r.steps.step_s[k]);
  }
  return phases;
}

}  // namespace

Document phase_blocks(const RunRecord& r) {
  Document d;
  const std::vector<Phase> phases = phases_of(r);
  if (phases.empty()) return d;
  Table t{.header = {"from epoch", "short side", "images/s", "speed-up", "fewer pixels"},
      .right = {true, true, true, true, true}};
  const Phase& last = phases.back();
  for (const Phase& p : phases) {
    if (p.rates.empty()) continue;
    const double rate = median(p.rates), side = last.short_side / p.short_side;
    t.rows.push_back({number("%.2f", p.begin), number("%.0f", p.short_side), number("%.1f", rate),
        last.rates.empty() ? Cell("-") : number("%.2f", rate / median(last.rates)), number("%.2f", side * side)});
  }
  d.push_back(Heading{"Sizes of images"});
  d.push_back(std::move(t));
  return d;
}

}  // namespace ttt::reports
