#include "measure/convergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/text.h"
#include "measure/averaged_weights.h"
#include "measure/looks.h"
#include "result/exchange.h"
#include "run/fresh_images.h"

namespace ttt::ablations {
namespace {

using result::ConvergenceRow;
using result::Json;
using result::Training;

// A training to be made, and how it ended.
struct Job {
  std::int64_t seed = 0;
  const Variant* variant = nullptr;
};
struct Made {
  Training training;
  bool interrupted = false;

  template <class Self, class Visitor> static void fields(Self& m, Visitor&& v) {
    v("training", m.training, ""), v("interrupted", m.interrupted, "");
  }
};

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

Training train_to(const train::Recipe& recipe, const Variant& variant, const result::ConvergenceRow& row,
    const comm::Team& team, const harness::RunContext& context) {
  Components components = components_of(recipe);
  if (variant.components) variant.components(components);
  Run run = assemble(recipe, components, team, context);
  if (variant.enter) variant.enter();
  result::RunRecorder recorder;
  result::RunClock clock;
  std::optional<AveragedWeights> averages;
  if (row.averaged) averages.emplace(run.parts.model->parameters());
  std::optional<FreshImages> fresh;
  if (run.recipe.data.generated_fresh > 0) fresh.emplace(run, context);
  const train::Observer observer{.recorder = recorder,
      .clock = clock,
      .interrupted = [&] { return context.signals.name(); },
      .listeners = averages ? std::vector<train::Listener*>{&*averages} : std::vector<train::Listener*>{}};
  const double images = static_cast<double>(run.train_images->size());
  train::Trainer trainer(
      run.recipe.train, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  trainer.run();
  const result::RunRecord record = recorder.snapshot();
  std::optional<result::FreshEvaluation> on_fresh;
  if (fresh) {
    if (averages) averages->exchange();
    on_fresh = fresh->evaluate();
  }
  const result::Evaluation& last = record.accuracy.back();
  double seconds = last.wall_s;
  run.control->broadcast(&seconds, sizeof seconds, 0);
  Training t{.variant = variant.name,
      .seed = recipe.seed,
      .reached = result::reached(last.metrics, row.target),
      .epochs = static_cast<double>(last.images) / images,
      .seconds = seconds,
      .metrics = result::bounded(last.metrics, row.target)};
  for (const result::Evaluation& e : record.accuracy)
    t.accuracy.push_back({static_cast<double>(e.images) / images, result::bounded(e.metrics, row.target)});
  if (on_fresh) t.fresh = result::bounded(on_fresh->metrics, row.target);
  return t;
}

// One training, or one to each of the ends, whose evaluations then are those of one. The variant's change is made when
// its length is known.
Training train_once(const train::Recipe& base, const Variant& variant, const result::ConvergenceRow& row,
    const comm::Team& team, const harness::RunContext& context) {
  std::optional<Training> all;
  for (const double epochs : row.ends.empty() ? std::vector<double>{base.train.epochs} : row.ends) {
    train::Recipe recipe = base;
    recipe.train.epochs = epochs;
    if (!row.ends.empty()) recipe.train.eval_from_epochs = epochs;
    if (variant.change) variant.change(recipe);
    Training t = train_to(recipe, variant, row, team, context);
    if (all) {
      t.seconds += all->seconds;
      t.accuracy.insert(t.accuracy.begin(), all->accuracy.begin(), all->accuracy.end());
    }
    all = std::move(t);
  }
  return *all;
}

std::string training_text(const Ablation& a, const Training& t, const result::Metrics& target) {
  if (!t.problem.empty()) return a.name + ": " + t.variant + ", seed " + std::to_string(t.seed) + ": " + t.problem;
  return result::fixed("%s: %s, seed %lld: progress %.3f after %.2f epochs, %.1f s (%s)", a.name.c_str(),
      t.variant.c_str(), static_cast<long long>(t.seed), result::progress(t, target), t.epochs, t.seconds,
      result::metrics_text(t.metrics, 3).c_str());
}

class Trainings {
 public:
  Trainings(const Ablation& ablation, const train::Recipe& base, const ConvergenceRow& row, const comm::World& world,
      const harness::RunContext& context)
      : base_(base), row_(row), world_(world), context_(context), control_(world.communicator()) {
    for (const Variant& v : ablation.variants) variants_.push_back(&v);
  }

  // Seeds that keep all ranks at work: trainings of each wave are as many as ranks.
  std::int64_t seeds_of_wave() const {
    const auto variants = static_cast<std::int64_t>(variants_.size());
    return row_.side_by_side ? world_.size() / std::gcd<std::int64_t>(variants, world_.size()) : 1;
  }

  // All variants with the seeds of [first, last), in the order of seeds and variants.
  std::vector<Made> make(std::int64_t first, std::int64_t last) {
    std::vector<Job> jobs;
    for (std::int64_t seed = first; seed < last; ++seed)
      for (const Variant* v : variants_) jobs.push_back({seed, v});
    std::vector<Made> all;
    if (!row_.side_by_side) {
      for (const Job& job : jobs) {
        all.push_back(one(job, world_.team()));
        if (all.back().interrupted) break;
      }
      return all;
    }
    for (std::size_t begin = 0; begin < jobs.size(); begin += static_cast<std::size_t>(world_.size())) {
      const std::size_t own = begin + static_cast<std::size_t>(world_.rank());
      const std::vector<std::string> texts =
          gathered(own < jobs.size() ? result::dump(result::json_of(one(jobs[own], by_itself())), -1) : "");
      for (const std::string& text : texts)
        if (!text.empty()) all.push_back(result::record_from_json<Made>(result::parse(text, "training"), ""));
      if (std::any_of(all.begin(), all.end(), [](const Made& m) { return m.interrupted; })) break;
    }
    return all;
  }

 private:
  Made one(const Job& job, const comm::Team& team) const {
    train::Recipe recipe = base_;
    recipe.seed = job.seed;
    try {
      return {.training = train_once(recipe, *job.variant, row_, team, context_)};
    } catch (const Interrupted&) {  // whose remedy is a checkpoint, which a comparison has not
      return {.interrupted = true};
    } catch (const Incorrect& e) {
      return {.training = {.variant = job.variant->name, .seed = job.seed, .problem = e.what()}};
    }
  }

  // With its share of the node's cores and devices.
  comm::Team by_itself() const {
    comm::Team team = comm::alone();
    team.local_rank = world_.local_rank(), team.local_size = world_.local_size();
    return team;
  }

  // What every rank says, in rank order, on all ranks.
  std::vector<std::string> gathered(const std::string& text) {
    std::string all;
    if (const auto texts = control_->gather(text, 0); world_.rank() == 0) all = result::dump(Json(texts), -1);
    std::uint64_t size = all.size();
    control_->broadcast(&size, sizeof size, 0);
    all.resize(size);
    control_->broadcast(all.data(), size, 0);
    return result::parse(all, "trainings").get<std::vector<std::string>>();
  }

  const train::Recipe& base_;
  const ConvergenceRow& row_;  // of which trainings it will be
  const comm::World& world_;
  const harness::RunContext& context_;
  const std::unique_ptr<comm::Communicator> control_;
  std::vector<const Variant*> variants_;
};

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
  Trainings trainings(ablation, base, row, world, context);
  harness::Looks looks(kFirstLook, limits.seeds);
  for (std::int64_t done = 0; done < limits.seeds;) {
    const std::int64_t next = std::min(limits.seeds, done + trainings.seeds_of_wave());
    for (Made& made : trainings.make(recipe.seed + done, recipe.seed + next)) {
      if (made.interrupted) throw Interrupted(kInterruptedSentence);
      // Without the baseline there is nothing to compare with. A variant that diverges is a finding.
      if (!made.training.problem.empty() && made.training.variant == row.baseline)
        throw Incorrect(made.training.problem);
      say(training_text(ablation, made.training, target));
      row.trainings.push_back(std::move(made.training));
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
