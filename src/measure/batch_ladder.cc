#include "measure/batch_ladder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "measure/rate_search.h"
#include "measure/trainings.h"
#include "result/crossing.h"
#include "result/result_file.h"
#include "settings/fields_json.h"

namespace ttt::ablations {
namespace {

using result::BatchLadder;
using result::LadderTraining;
using result::Training;

constexpr double kFirstLimit = 3;   // times the expected epochs, while no trial of a rung has reached the target
constexpr double kNextBatch = 1.5;  // times the epochs of the batch before: what is expected at twice the batch
constexpr double kEvaluatedFrom = 0.4, kEvaluatedEvery = 0.1;  // of the expected epochs
constexpr std::int64_t kLeastWarmup = 10;                      // steps

// Known before a rung.
struct Expected {
  double rate = 0, epochs = 0;
};

class Climb {
 public:
  Climb(const Ablation& ablation, const Variant& variant, const train::Recipe& recipe, bool side_by_side,
      const comm::World& world, const harness::RunContext& context, const Listener& listener, BatchLadder& ladder)
      : plan_(ablation.batch_ladder), variant_(variant), base_(recipe), context_(context), listener_(listener),
        ladder_(ladder), trainings_(world, side_by_side) {}

  // Returns what is expected of the next one.
  Expected rung(std::int64_t batch, const Expected& before) {
    RateSearch search(before.rate);
    std::map<double, std::vector<LadderTraining>> made;
    for (const LadderTraining& t : ladder_.trainings)
      if (t.batch == batch) made[t.learning_rate].push_back(t);
    for (;;) {
      // A training that fails takes its rate out. So rates take turns, seed by seed: where one has failed, the others
      // of its rate need not be trained. The next best rate is repeated then.
      const auto is_known = [&](const std::vector<LadderTraining>& all) {
        return std::ssize(all) >= plan_.trial_seeds ||
               !std::ranges::all_of(all, [](const auto& t) { return t.epochs.has_value(); });
      };
      for (const auto& [rate, all] : made)
        if (is_known(all)) search.add(rate, result::rate_epochs(all));
      const double epochs = search.best_epochs().value_or(before.epochs);
      const double limit = search.best_epochs() ? result::kReachingWithin * epochs : kFirstLimit * epochs;
      const auto training = [&](double rate, std::int64_t seed, bool trial) {
        return LadderTraining{
            .batch = batch, .learning_rate = rate, .seed = base_.seed + seed, .trial = trial, .limit_epochs = limit};
      };
      std::vector<LadderTraining> wave;
      for (std::int64_t more = 0; more < plan_.trial_seeds; ++more)
        for (const double rate : search.wanted())
          if (const std::int64_t seed = std::ssize(made[rate]) + more;
              seed < plan_.trial_seeds && std::ssize(wave) < trainings_.at_a_time())
            wave.push_back(training(rate, seed, true));
      if (search.best() && search.best_is_known()) {
        std::int64_t seed = std::ssize(made[*search.best()]);  // its trials have the first
        while (std::ssize(wave) < trainings_.at_a_time() && seed < plan_.trial_seeds + plan_.seeds)
          wave.push_back(training(*search.best(), seed++, false));
      }
      if (wave.empty()) break;
      for (const LadderTraining& t : train(wave, epochs)) made[t.learning_rate].push_back(t);
    }
    return {search.best().value_or(before.rate), kNextBatch * search.best_epochs().value_or(before.epochs)};
  }

 private:
  Job job_of(const LadderTraining& t, double expected_epochs) const {
    Job job{.recipe = base_, .variant = &variant_};
    train::TrainConfig& train = job.recipe.train;
    job.recipe.seed = t.seed;
    train.global_batch = t.batch;
    train.schedule.lr = t.learning_rate;
    train.schedule.batch_rule = "none";
    train.schedule.warmup_steps =
        std::max<std::int64_t>(kLeastWarmup, std::llround(plan_.warmup_images / static_cast<double>(t.batch)));
    train.epochs = t.limit_epochs;
    train.eval_every_epochs = kEvaluatedEvery * expected_epochs;
    train.eval_from_epochs = kEvaluatedFrom * expected_epochs;
    train.eval_near_every_epochs = 0;
    return job;
  }

  std::vector<LadderTraining> train(std::vector<LadderTraining> wave, double expected_epochs) {
    std::vector<Job> jobs;
    for (const LadderTraining& t : wave) jobs.push_back(job_of(t, expected_epochs));
    const auto made = trainings_.make(jobs, [&](const Job& job, const comm::Team& team) {
      Job own = job;
      const std::int64_t images = own.recipe.train.global_batch / team.size;
      own.recipe.train.accumulate = std::max<std::int64_t>(1, images / plan_.part_images);
      return train_to(own, {.target = ladder_.target}, team, context_);
    });
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i].training) throw Interrupted(kInterruptedSentence);
      take(*made[i].training, wave[i]);
    }
    return wave;
  }

  void take(const Training& made, LadderTraining& t) {
    t.seconds = made.seconds, t.problem = made.problem;
    if (made.problem.empty() && made.reached) {
      const auto crossing = result::crossing(made.accuracy, ladder_.target);
      t.epochs = crossing ? crossing->epochs.estimate : made.epochs;  // the first evaluation of all reached it
    }
    ladder_.trainings.push_back(t);
    const std::string end = t.epochs               ? result::fixed("target after %.2f epochs", *t.epochs)
                            : made.problem.empty() ? result::fixed("not reached in %.2f epochs", t.limit_epochs)
                                                   : made.problem;
    listener_.say(ladder_.ablation + ": " + variant_.name +
                  result::fixed(", batch %lld, %s at rate %.3g, seed %lld: ", static_cast<long long>(t.batch),
                      t.trial ? "trial" : "repeat", t.learning_rate, static_cast<long long>(t.seed)) +
                  end + result::fixed(", %.1f s", t.seconds));
    listener_.climbed(ladder_);
  }

  const BatchLadderPlan& plan_;
  const Variant& variant_;
  const train::Recipe& base_;
  const harness::RunContext& context_;
  const Listener& listener_;
  BatchLadder& ladder_;
  Trainings trainings_;
};

}  // namespace

void climb(const Ablation& ablation, const Variant& variant, const train::Recipe& recipe, bool side_by_side,
    const comm::World& world, const harness::RunContext& context, const Listener& listener, BatchLadder& ladder) {
  train::Recipe base = recipe;
  if (ablation.batch_ladder.change) ablation.batch_ladder.change(base);
  if (variant.change) variant.change(base);
  ladder = {.ablation = ablation.name,
      .question = ablation.question,
      .expectation = ablation.expectation,
      .variant = variant.name,
      .target = base.workload->target(base.train.targets),
      .part_images = ablation.batch_ladder.part_images,
      .continues = ladder.continues,
      .trainings = std::move(ladder.trainings)};
  listener.climbed(ladder);
  Climb climb(ablation, variant, base, side_by_side, world, context, listener, ladder);
  Expected expected{base.train.schedule.lr, ablation.batch_ladder.epochs};
  std::set<std::int64_t> batches(ablation.batch_ladder.batches.begin(), ablation.batch_ladder.batches.end());
  for (const LadderTraining& t : ladder.trainings) batches.insert(t.batch);
  for (const std::int64_t batch : batches) expected = climb.rung(batch, expected);
}

BatchLadder earlier_ladder(
    const std::string& file, const Ablation& ablation, const Variant& variant, const train::Recipe& recipe) {
  if (file.empty()) return {};
  const result::RunRecord earlier = result::read_result(file);
  // The ladder and the launch decide these.
  static const std::set<std::string> decided = {"train.global_batch", "train.images_per_rank", "train.threads"};
  const auto here = result::flat_settings(result::fields_json(recipe));
  for (const auto& [key, was] : result::flat_settings(earlier.recipe.settings)) {
    const auto is = here.find(key);
    if (is == here.end() || is->second == was || decided.contains(key)) continue;
    throw UsageError("ablate.continues = '" + file + "': it was made with " + key + " = " + was.dump() +
                     ", and this run has " + is->second.dump() + ". Give it the same value, or begin anew.");
  }
  for (const BatchLadder& l : earlier.batch_ladders)
    if (l.ablation == ablation.name && l.variant == variant.name)
      return {.continues = earlier.run_id, .trainings = l.trainings};
  return {};
}

}  // namespace ttt::ablations
