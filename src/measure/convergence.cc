#include "measure/convergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "measure/looks.h"
#include "measure/trainings.h"
#include "result/exchange.h"

namespace ttt::ablations {
namespace {

using result::ConvergenceRow;
using result::Training;

// No evaluation stops it: each of its targets is the greatest value that there is.
void train_to_the_end(train::Recipe& r, double evaluated_from) {
  result::FieldTable table;
  r.train.targets.list(table, "");
  for (result::Field& field : table.fields) field.value = 1.0;
  std::size_t next = 0;
  r.train.targets.store(table.fields, next);
  r.train.eval_near_every_epochs = 0;
  r.train.eval_from_epochs = evaluated_from * r.train.epochs;
  r.train.max_steps = 0;
  r.train.save_weights.clear();
}

// One training, or one to each of the ends, whose evaluations then are those of one. The variant's change is made when
// its length is known.
Training train_once(
    const Job& job, const ConvergenceRow& row, const comm::Team& team, const harness::RunContext& context) {
  std::optional<Training> all;
  for (const double epochs : row.ends.empty() ? std::vector<double>{job.recipe.train.epochs} : row.ends) {
    Job one = job;
    one.recipe.train.epochs = epochs;
    if (!row.ends.empty()) one.recipe.train.eval_from_epochs = epochs;
    if (job.variant->change) job.variant->change(one.recipe);
    Training t = train_to(one, {.target = row.target, .averaged = row.averaged}, team, context);
    if (all) {
      t.seconds += all->seconds;
      t.accuracy.insert(t.accuracy.begin(), all->accuracy.begin(), all->accuracy.end());
    }
    all = std::move(t);
  }
  return *all;
}

// All variants with the seeds of [first, last), in the order of seeds and variants.
std::vector<Job> jobs_of(const Ablation& ablation, const train::Recipe& base, std::int64_t first, std::int64_t last) {
  std::vector<Job> jobs;
  for (std::int64_t seed = first; seed < last; ++seed)
    for (const Variant& v : ablation.variants) {
      jobs.push_back({.recipe = base, .variant = &v});
      jobs.back().recipe.seed = seed;
    }
  return jobs;
}

// Whether the steps of every variant are known well enough.
bool is_precise(const Ablation& a, const ConvergenceRow& row, double half_width) {
  return std::all_of(a.variants.begin() + 1, a.variants.end(), [&](const Variant& v) {
    const auto e = result::exchange(row, v.name);
    return e && (e->steps.high - e->steps.low) / 2 <= half_width;
  });
}

}  // namespace

void compare_trainings(const Ablation& ablation, const train::Recipe& recipe, const TrainingLimits& limits,
    const comm::World& world, const harness::RunContext& context, const std::function<void(const std::string&)>& say,
    ConvergenceRow& row) {
  train::Recipe base = recipe;
  if (ablation.convergence.change) ablation.convergence.change(base);
  resolve_batch(base.train, world.team());
  const result::Metrics target = base.workload->target(base.train.targets);
  const std::vector<double>& ends = ablation.convergence.ends;
  train_to_the_end(base, ablation.convergence.evaluated_from);
  row = {.ablation = ablation.name,
      .question = ablation.question,
      .expectation = ablation.expectation,
      .baseline = ablation.variants[0].name,
      .target = target,
      .fixed_steps = true,
      .side_by_side = limits.side_by_side && world.size() > 1,
      .averaged = limits.averaged && ends.empty(),
      .eval_every_epochs = base.train.eval_every_epochs};
  for (const double share : ends) row.ends.push_back(share * base.train.epochs);
  const auto is_combination = [](const Variant& v) { return !v.factors.empty(); };
  if (std::any_of(ablation.variants.begin(), ablation.variants.end(), is_combination))
    for (const Variant& v : ablation.variants) row.combinations.push_back({v.name, v.factors});
  Trainings trainings(world, row.side_by_side);
  // Seeds that keep all ranks at work: trainings of each wave are as many as ranks.
  const auto variants = static_cast<std::int64_t>(ablation.variants.size());
  const std::int64_t seeds_of_wave = trainings.at_a_time() / std::gcd(variants, trainings.at_a_time());
  const auto train = [&](const Job& job, const comm::Team& team) { return train_once(job, row, team, context); };
  harness::Looks looks(kFirstLook, limits.seeds);
  for (std::int64_t done = 0; done < limits.seeds;) {
    const std::int64_t next = std::min(limits.seeds, done + seeds_of_wave);
    for (Made& made : trainings.make(jobs_of(ablation, base, recipe.seed + done, recipe.seed + next), train)) {
      if (!made.training) throw Interrupted(kInterruptedSentence);
      // Without the baseline there is nothing to compare with. A variant that diverges is a finding.
      if (!made.training->problem.empty() && made.training->variant == row.baseline)
        throw Incorrect(made.training->problem);
      say(training_text(ablation.name, *made.training, target));
      row.trainings.push_back(std::move(*made.training));
    }
    done = next;
    const bool last = done == limits.seeds;
    if (limits.half_width <= 0 || (!last && !looks.due(done))) continue;
    row.confidence = last ? looks.last_confidence() : looks.confidence();
    if (last || is_precise(ablation, row, limits.half_width)) break;
    looks.take(done);
  }
}

}  // namespace ttt::ablations
