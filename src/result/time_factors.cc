#include "result/time_factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics.h"

namespace ttt::result {

double train_images_of(const RunRecord& r) {
  const auto it = r.data.find("train_images");
  return it != r.data.end() && it->is_number() ? it->get<double>() : 0;
}

std::optional<double> training_rate(const RunRecord& r) {
  const double seconds = sum(r.steps.step_s);
  if (seconds <= 0) return std::nullopt;
  return static_cast<double>(std::accumulate(r.steps.images.begin(), r.steps.images.end(), std::int64_t{0})) / seconds;
}

bool TimeFactors::adds_up() const { return std::abs(unaccounted_s) <= std::max(0.02 * total_s, 0.5); }

std::optional<Evaluation> reaching_evaluation(const RunRecord& record) {
  if (!record.target) return std::nullopt;
  for (const Evaluation& e : record.accuracy)
    if (reached(e.metrics, *record.target)) return e;
  return std::nullopt;
}

TimeFactors time_factors(const RunRecord& r) {
  TimeFactors f;
  const std::optional<Evaluation> end = reaching_evaluation(r);
  f.reached = end.has_value();
  std::vector<double> steps, evaluations;
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    if (end && r.steps.step[i] >= end->step) continue;
    steps.push_back(r.steps.step_s[i]);
    f.images += static_cast<double>(r.steps.images[i]);
  }
  for (const Evaluation& e : r.accuracy)
    if (!end || e.step <= end->step) evaluations.push_back(e.duration_s);
  for (const CheckpointSample& c : r.checkpoints)
    if (!end || c.step <= end->step) f.checkpoint_s += c.stall_s;
  for (const Resume& resume : r.resumes)
    if (!end || resume.step <= end->step) f.lost_s += resume.lost_s;
  f.startup_s = r.clocks.init_s;
  f.training_s = sum(steps);
  f.evaluation_s = sum(evaluations);
  f.total_s = r.clocks.total_s;
  f.time_to_target_s = r.clocks.init_s + (end ? end->wall_s : r.clocks.run_s);
  f.after_s = f.total_s - f.time_to_target_s;
  f.unaccounted_s = f.time_to_target_s - (f.startup_s + f.training_s + f.evaluation_s + f.checkpoint_s + f.lost_s);
  if (train_images_of(r) > 0 && f.images > 0) {
    f.epochs = f.images / train_images_of(r);
    f.epoch_s = f.training_s / f.epochs;
    f.crossing = crossing(r);
    if (f.crossing) f.time_to_crossing_s = f.time_to_target_s + (f.crossing->epochs.estimate - f.epochs) * f.epoch_s;
  }
  return f;
}

}  // namespace ttt::result
