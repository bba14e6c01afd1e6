#include "measure/runner.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <sstream>

#include "app/progress.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/nearest.h"
#include "core/parallel.h"
#include "core/processors.h"
#include "core/statistics.h"
#include "core/text.h"
#include "measure/background_load.h"
#include "measure/batch_ladder.h"
#include "measure/convergence.h"
#include "measure/pair_run.h"
#include "measure/trainings.h"
#include "result/techniques.h"

namespace ttt::ablations {
namespace {

using result::Comparison;
using result::counted;
using result::fixed;

// The least over ranks: they must all decide alike.
Capabilities capabilities_of(const AblateRecipe& recipe, const comm::World& world, comm::Communicator& control) {
  double minus_cores = -std::max(1, usable_cores());
  control.all_reduce_max(&minus_cores, 1);
  return {.ranks = world.size(),
      .cores = static_cast<int>(-minus_cores),
      .nodes = world.nodes(),
      .device = recipe.device,
      .bfloat16 = has_bfloat16_instructions(),
      .malloc_can_be_set = malloc_can_be_set()};
}

// A reason on one rank (its environment, its node) is a reason on all.
void agree(std::vector<Pairing>& pairings, comm::Communicator& control) {
  std::vector<double> refused;
  for (const Pairing& p : pairings) refused.push_back(p.unsupported.empty() ? 0 : 1);
  control.all_reduce_max(refused.data(), refused.size());
  for (std::size_t i = 0; i < pairings.size(); ++i)
    if (refused[i] > 0 && pairings[i].unsupported.empty())
      pairings[i].unsupported = "another rank cannot: its node or environment differs from this one's";
}

Ablation of_one_variant(Ablation a, const std::string& name) {
  std::vector<std::string> known;
  for (std::size_t v = a.is_batch_ladder() ? 0 : 1; v < a.variants.size(); ++v) {
    if (a.variants[v].name == name) {
      if (a.is_batch_ladder()) a.variants = {a.variants[v]};  // each stands by itself
      else a.variants = {a.variants[0], a.variants[v]};
      return a;
    }
    known.push_back(a.variants[v].name);
  }
  throw UsageError("'" + a.name + "' has no variant '" + name +
                   (a.is_batch_ladder() ? "'." : "' beside its baseline.") +
                   nearest_and(name, known, "'ablate --list' names all."));
}

Ablation find(const std::vector<Ablation>& all, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const Ablation& a : all) {
    if (a.name == name) return word.size() > name.size() ? of_one_variant(a, word.substr(name.size() + 1)) : a;
    known.push_back(a.name);
  }
  throw UsageError("There is no ablation '" + name + "'." + nearest_and(name, known, "'ablate --list' names all."));
}

// "+-0.9 %" is known from six builds on.
std::string sofar_text(const harness::Sofar& sofar) {
  const double centre = hodges_lehmann(result::build_effects(sofar.samples));
  std::string text = fixed("build %lld/%lld  %+.1f %%", static_cast<long long>(sofar.builds),
      static_cast<long long>(std::max(sofar.builds, sofar.least)), 100 * std::expm1(centre));
  if (const auto e = result::effect(sofar.samples)) text += fixed(" +-%.1f", 50 * (e->high - e->low));
  return text;
}

}  // namespace

const char* promise_name(Promise promise) {
  switch (promise) {
    case Promise::kBitwise: return "bitwise";
    case Promise::kClose: return "close";
    case Promise::kOtherWork: return "other_work";
  }
  return "";
}

std::string needs_ranks(const Capabilities& here) {
  return here.ranks > 1 ? "" : "one rank has nobody to send to: start it with mpirun -n 2 or more";
}

std::string needs_cuda(const Capabilities& here) { return here.device == "cuda" ? "" : "needs a GPU"; }

void make_steps_small(train::Recipe& r) {
  r.data.short_side = r.data.long_side = 64;
  r.data.workers = 0;
  r.train.global_batch = 0;
  r.train.images_per_rank = r.train.threads = 1;
}

std::vector<Ablation> chosen(const RunnerConfig& config) {
  const std::vector<Ablation> all = all_ablations();
  std::vector<Ablation> out;
  if (config.names.empty())
    throw UsageError(
        "Name what is to be compared: ablate NAME..., or ablate --all; ablate --list shows what there is.");
  if (config.names == "all" || config.names == "trainings") {
    for (const Ablation& a : all)
      if (!a.is_self_test() && !a.is_batch_ladder() && a.trains() == (config.names == "trainings")) out.push_back(a);
    return out;
  }
  std::istringstream names(config.names);
  std::set<std::string> named;
  for (std::string word; std::getline(names, word, ',');) {
    if (!named.insert(word).second)
      throw UsageError(
          "'" + word + "' is named twice. Name each ablation once; ablate.limit_s is for how long each is measured.");
    out.push_back(find(all, word));
  }
  return out;
}

double limit_s(const Pairing& p, const RunnerConfig& c) { return c.limit_s > 0 ? c.limit_s : p.limit_s; }

// Tests of the measuring are not cut short by the others' usual limit.
double budget_s(const std::vector<Pairing>& pairings, const RunnerConfig& c) {
  constexpr double kUsual_s = 1200;
  if (c.budget_s > 0) return c.budget_s;
  double proofs_s = 0;
  for (const Pairing& p : pairings)
    if (p.repetitions > 1 && p.unsupported.empty()) proofs_s += limit_s(p, c);
  return std::max(kUsual_s, proofs_s);
}

// cuDNN may add up a gradient of weights with atomics, in an order that changes from call to call: two equal steps
// differ in the last places.
void relax(std::vector<Pairing>& pairings, const Capabilities& here) {
  constexpr double kRounding = 1e-3;  // what an ablation of cuDNN's algorithms promises, too
  if (here.device == "cpu") return;
  for (Pairing& p : pairings)
    if (p.promise == Promise::kBitwise) p.promise = Promise::kClose, p.rtol = kRounding;
}

std::string plan_text(const Plan& plan, std::size_t ablations, const AblateRecipe& recipe) {
  std::int64_t trainings = 0;
  double epochs = 0;
  std::size_t measured = 0;
  double limits_s = 0;
  for (const Pairing& p : plan.pairings)
    if (p.unsupported.empty()) ++measured, limits_s += limit_s(p, recipe.ablate);
  for (const Ablation& a : plan.trainings) {
    const auto n = static_cast<std::int64_t>(a.variants.size()) *
                   (recipe.ablate.seeds > 0 ? recipe.ablate.seeds : a.convergence.seeds);
    train::Recipe one = recipe;
    if (a.convergence.change) a.convergence.change(one);
    const std::vector<double>& ends = a.convergence.ends;
    const double lengths = ends.empty() ? 1 : sum(ends);
    trainings += n * std::max<std::int64_t>(1, std::ssize(ends));
    epochs += static_cast<double>(n) * lengths * one.train.epochs;
  }
  std::vector<std::string> parts;
  for (const Ablation& a : plan.batch_ladders)
    parts.push_back(counted(a.variants.size(), "ladder") + " of batches, " +
                    counted(a.batch_ladder.batches.size(), "rung") + ": a search for the rate and " +
                    counted(a.batch_ladder.seeds, "repeat") + " at each");
  if (measured > 0)
    parts.push_back(counted(measured, "comparison") + " of " + counted(ablations, "ablation") +
                    fixed(", at most %.0f min", std::ceil(std::min(plan.budget_s, limits_s) / 60)) + " (longer where " +
                    counted(recipe.ablate.builds, "build") +
                    (recipe.ablate.builds == 1 ? " of each takes longer)" : " of each take longer)"));
  if (const std::size_t refused = plan.pairings.size() - measured; refused > 0)
    parts.push_back(measured > 0 ? std::to_string(refused) + " cannot run here" : "no comparison can run here");
  if (trainings > 0)
    parts.push_back((measured > 0 ? "before, and not in these minutes, " : "") + counted(trainings, "training") +
                    fixed(" of %g ", epochs) + (epochs == 1 ? "epoch" : "epochs") + " in all");
  return result::joined(parts, "; ");
}

// Throws UsageError where the run would continue ladders of which the result has none.
static void check_continues(const std::vector<Ablation>& ladders, const AblateRecipe& recipe) {
  if (recipe.ablate.continues.empty()) return;
  bool found = false;
  for (const Ablation& a : ladders)
    for (const Variant& v : a.variants)
      found |= !earlier_ladder(recipe.ablate.continues, a, v, recipe).trainings.empty();
  if (!found)
    throw UsageError("ablate.continues = '" + recipe.ablate.continues +
                     "' has no ladder of what is named here. Name the result that it is to go on from.");
}

// Throws UsageError for batches that do not ascend or that the ranks cannot share.
static std::vector<Ablation> batch_ladders(
    const std::vector<Ablation>& ablations, const RunnerConfig& config, const comm::World& world) {
  std::vector<Ablation> out;
  for (Ablation a : ablations) {
    if (!a.is_batch_ladder()) continue;
    if (config.design != "one_off")
      throw UsageError("'" + a.name + "' trains at several batches and combines with nothing: use --design one_off.");
    if (!config.batches.empty()) a.batch_ladder.batches = config.batches;
    if (config.seeds > 0) a.batch_ladder.seeds = config.seeds;
    for (std::size_t i = 0; i < a.batch_ladder.batches.size(); ++i) {
      const std::int64_t batch = a.batch_ladder.batches[i], ranks = config.trainings == "together" ? world.size() : 1;
      if (i > 0 && batch <= a.batch_ladder.batches[i - 1])
        throw UsageError("ablate.batches do not ascend at " + std::to_string(batch) + ". Give each once, in order.");
      if (batch % ranks != 0 ||
          (batch / ranks > a.batch_ladder.part_images && batch / ranks % a.batch_ladder.part_images != 0))
        throw UsageError("ablate.batches: " + std::to_string(batch) + " images cannot be shared by " +
                         counted(ranks, "rank") + " in parts of " + std::to_string(a.batch_ladder.part_images) +
                         ". Choose a multiple of " + std::to_string(ranks * a.batch_ladder.part_images) + ".");
    }
    out.push_back(std::move(a));
  }
  return out;
}

Plan make_plan(const std::vector<Ablation>& ablations, const AblateRecipe& recipe, const comm::World& world) {
  if (const std::int64_t n = recipe.ablate.builds; n != 1 && (n < 6 || n % harness::kBuildTurns != 0))
    throw UsageError("ablate.builds = " + std::to_string(n) +
                     ": an interval over builds needs six, and four take turns in which side is made first and which "
                     "begins. Give a multiple of four from eight on, or 1 for a quick look.");
  const auto control = world.communicator();
  const Capabilities here = capabilities_of(recipe, world, *control);
  Plan plan{.pairings = pairings(ablations, recipe.ablate.design, here, recipe.ablate.repetitions, recipe)};
  relax(plan.pairings, here);
  agree(plan.pairings, *control);
  plan.trainings = trainings(ablations, recipe.ablate.design);
  plan.batch_ladders = batch_ladders(ablations, recipe.ablate, world);
  check_continues(plan.batch_ladders, recipe);
  plan.budget_s = budget_s(plan.pairings, recipe.ablate);
  plan.text = plan_text(plan, ablations.size(), recipe);
  return plan;
}

// Trainings of each variant, of the ablations whose convergence is compared.
static void train_all(const Plan& plan, const AblateRecipe& recipe, const comm::World& world,
    const harness::RunContext& context, const Listener& listener) {
  const RunnerConfig& c = recipe.ablate;
  for (const Ablation& a : plan.trainings) {
    const TrainingLimits limits{.seeds = c.seeds > 0 ? c.seeds : a.convergence.seeds,
        .half_width = c.steps_half_width,
        .side_by_side = c.trainings == "side_by_side",
        .averaged = c.averaged_weights};
    result::ConvergenceRow row;
    try {
      compare_trainings(a, recipe, limits, world, context, listener.say, row);
    } catch (const Incorrect& e) {  // agreed over the ranks, as below
      row.problem = e.what();
    } catch (const Interrupted&) {
      listener.converged(row);
      throw;
    }
    if (!row.problem.empty()) listener.say(a.name + ": " + row.problem);
    listener.converged(row);
  }
}

static void climb_all(const Plan& plan, const AblateRecipe& recipe, const comm::World& world,
    const harness::RunContext& context, const Listener& listener) {
  for (const Ablation& a : plan.batch_ladders)
    for (const Variant& variant : a.variants) {
      result::BatchLadder ladder = earlier_ladder(recipe.ablate.continues, a, variant, recipe);
      climb(a, variant, recipe, recipe.ablate.trainings == "side_by_side", world, context, listener, ladder);
    }
}

void run_plan(const Plan& plan, const AblateRecipe& recipe, const comm::World& world,
    const harness::RunContext& context, const Listener& listener) {
  const RunnerConfig& c = recipe.ablate;
  const double start_s = now_s();
  train_all(plan, recipe, world, context, listener);
  climb_all(plan, recipe, world, context, listener);
  const auto control = world.communicator();
  const std::int64_t all =
      std::count_if(plan.pairings.begin(), plan.pairings.end(), [](const Pairing& p) { return p.unsupported.empty(); });
  std::int64_t left = all;
  std::unique_ptr<BackgroundLoad> load;
  for (const Pairing& p : plan.pairings) {
    Comparison row = empty_row(p);
    if (!p.unsupported.empty()) {
      row.status = "not_supported", row.reason = p.unsupported;
    } else {
      if (p.under_load != (load != nullptr))
        load = p.under_load ? std::make_unique<BackgroundLoad>(world.rank() == 0) : nullptr;
      double share_s = (plan.budget_s - (now_s() - start_s)) / static_cast<double>(left--);
      control->all_reduce_max(&share_s, 1);  // the ranks' clocks differ; they must stop alike
      const PairLimits limits{.timing = {.block_steps = p.block_steps,
                                  .settle_steps = p.settle_steps,
                                  .half_width = c.half_width > 0 ? c.half_width : p.half_width,
                                  .limit_s = std::min(std::max(share_s, 0.1), limit_s(p, c)),
                                  .builds = c.builds,
                                  .min_rounds = c.min_rounds,
                                  .max_rounds = c.max_rounds},
          .gate_steps = static_cast<int>(c.gate_steps),
          .observed_steps = static_cast<int>(c.observed_steps)};
      const std::string place = "[" + std::to_string(all - left) + "/" + std::to_string(all) + "] ";
      const auto told = [&](const harness::Sofar& sofar) {
        if (listener.now)
          listener.now(place + result::row_name(row) + "  " + sofar_text(sofar) + "  " +
                       harness::duration_text(sofar.left_s) + " left at most");
      };
      try {
        row = run_pair(p, recipe, limits, world, context, told);
        // agreed over the ranks (a loss that is not finite): the others can still be measured
      } catch (const Incorrect& e) {
        row.status = "incorrect", row.reason = e.what();
      } catch (const NotSupported& e) {  // of the data, which all ranks read alike
        row.status = "not_supported", row.reason = e.what();
      }
    }
    if (row.status != "not_supported")  // which the end says, by reason
      listener.say(result::row_name(row) + " against " + row.baseline + ": " +
                   (row.status == "measured" ? effect_text(row) : row.status + ", " + row.reason));
    listener.row(row);
    if (row.samples.stopped == "interrupted") throw Interrupted(kInterruptedSentence);
  }
}

std::string effect_text(const Comparison& c) {
  const auto e = result::effect(c.samples);
  if (!e) return "too few builds for an interval";
  const char* stopped = ", stopped by the time limit: more with --set ablate.limit_s and ablate.budget_s";
  return fixed("%+.2f %% (95 %%: %+.2f to %+.2f), ", 100 * e->estimate, 100 * e->low, 100 * e->high) +
         counted(c.samples.builds(), "build") + (c.samples.stopped == "time" ? stopped : "");
}

}  // namespace ttt::ablations
