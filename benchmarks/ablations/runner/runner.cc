#include "ablations/runner/runner.h"

#include <cmath>
#include <cstring>
#include <sstream>
#include <thread>

#include "ablations/runner/background_load.h"
#include "ablations/runner/train_arm.h"
#include "core/error.h"
#include "harness/nearest.h"

namespace ttt::ablations {
namespace {

using result::Comparison;
using result::Json;

Json built_difference(const Json& a, const Json& b) {
  Json out = Json::object();
  for (const auto& [key, value] : a.items())
    if (!b.contains(key) || b[key] != value) out[key] = {value, b.contains(key) ? b[key] : Json()};
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) out[key] = {Json(), value};
  return out;
}

// The largest relative difference of a loss over all ranks, and whether any bit differs.
struct Difference {
  double largest = 0;
  bool any = false;
  std::int64_t first_step = -1;  // of this rank
};
Difference difference(TrainArm& a, TrainArm& b) {
  double shared[2] = {0, 0};
  std::int64_t first = -1;
  for (std::size_t i = 0; i < a.losses().size(); ++i) {
    const double x = a.losses()[i], y = b.losses()[i];
    if (std::memcmp(&x, &y, sizeof x) == 0) continue;
    shared[1] = 1;
    if (first < 0) first = static_cast<std::int64_t>(i / model::kLosses);
    const double d = std::abs(x - y) / std::max(std::abs(x), 1e-6);
    shared[0] = std::max(shared[0], std::isfinite(d) ? d : 1e9);
  }
  a.control().all_reduce_max(shared, 2);
  return {shared[0], shared[1] > 0, first};
}

bool kept(const Ablation& ablation, const Difference& d) {
  switch (ablation.promise) {
    case Promise::kBitwise: return !d.any;
    case Promise::kClose: return d.largest <= ablation.rtol;
    case Promise::kOtherWork: return true;
  }
  return false;
}

void add_phases(Comparison& row, TrainArm& a, TrainArm& b) {
  const auto x = a.phases(), y = b.phases();
  for (std::size_t p = 0; p < x.size(); ++p) row.phases[std::string(result::kPhaseNames[p])] = {x[p], y[p]};
}

// One pair of variants.
class PairRun {
 public:
  PairRun(const Ablation& ablation, const Variant& variant, const AblateRecipe& recipe, const comm::World& world, const harness::RunContext& context)
      : ablation_(ablation), recipe_(recipe), context_(context), a_(recipe, ablation.variants[0], world, context), b_(recipe, variant, world, context) {
    row_ = {.ablation = ablation.name, .question = ablation.question, .expectation = ablation.expectation,
            .baseline = ablation.variants[0].name, .variant = variant.name, .promise = promise_name(ablation.promise),
            .promised_difference = ablation.promise == Promise::kClose ? ablation.rtol : 0};
  }

  Comparison run() {
    row_.built = built_difference(a_.describe(), b_.describe());
    if (row_.built.empty() && !ablation_.built_alike) return refused("same_build", "both sides were built alike: the change reached no part");
    row_.gate_steps = recipe_.ablate.gate_steps;
    a_.block(static_cast<int>(row_.gate_steps));
    b_.block(static_cast<int>(row_.gate_steps));
    const Difference d = difference(a_, b_);
    row_.largest_difference = d.largest;
    if (kept(ablation_, d)) return measured();
    char text[160];
    std::snprintf(text, sizeof text, "the losses of the first %lld steps differ by up to %.2g, promised was %s", static_cast<long long>(row_.gate_steps),
                  d.largest, ablation_.promise == Promise::kBitwise ? "the same bits" : "less");
    return refused("promise_broken", text);
  }

 private:
  Comparison refused(const char* status, const std::string& reason) {
    row_.status = status, row_.reason = reason, row_.samples = {}, row_.phases = result::Json::object();
    return row_;
  }

  Comparison measured() {
    const RunnerConfig& c = recipe_.ablate;
    const harness::PairedSettings settings{.block_steps = ablation_.block_steps, .settle_steps = ablation_.settle_steps,
                                           .half_width = ablation_.half_width > 0 ? ablation_.half_width : c.half_width,
                                           .limit_s = c.limit_s, .min_rounds = c.min_rounds, .max_rounds = c.max_rounds};
    row_.samples = harness::measure_pairs(a_, b_, settings, [&] { a_.start_counting(), b_.start_counting(); }, [&] { return interrupted(); });
    add_phases(row_, a_, b_);
    if (const Difference d = difference(a_, b_); ablation_.promise == Promise::kBitwise && d.any) {
      row_.largest_difference = d.largest;
      return refused("promise_broken", "a loss of step " + std::to_string(d.first_step) + " of the measurement differed, promised were the same bits in every step");
    }
    return row_;
  }

  bool interrupted() {
    double asked = context_.signals.requested() ? 1 : 0;
    a_.control().all_reduce_max(&asked, 1);
    return asked > 0;
  }

  const Ablation& ablation_;
  const AblateRecipe& recipe_;
  const harness::RunContext& context_;
  TrainArm a_, b_;
  Comparison row_;
};

Comparison not_supported(const Ablation& ablation, const Variant& variant, const std::string& reason) {
  return {.ablation = ablation.name, .question = ablation.question, .expectation = ablation.expectation, .baseline = ablation.variants[0].name,
          .variant = variant.name, .status = "not_supported", .reason = reason, .promise = promise_name(ablation.promise)};
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

std::string needs_ranks(const Place& place) {
  return place.ranks > 1 ? "" : "one rank has nobody to send to: start it with mpirun -n 2 or more";
}

std::string needs_cuda(const Place& place, const std::string& what) {
  return place.device == "cuda" ? what + " is not part of this version yet" : what + " exists on CUDA devices only";
}

void make_steps_small(train::Recipe& r) {
  r.data.short_side = r.data.long_side = 64;
  r.data.workers = 0;
  r.train.global_batch = 0;
  r.train.images_per_rank = r.train.threads = 1;
}

std::vector<Ablation> chosen(const RunnerConfig& config) {
  const std::vector<Ablation> all = all_ablations();
  std::vector<Ablation> out;
  if (config.names.empty()) throw UsageError("Name what is to be compared: ablate NAME..., or ablate --all; ablate --list shows what there is.");
  if (config.names == "all") {
    for (const Ablation& a : all)
      if (a.repetitions == 1) out.push_back(a);
    return out;
  }
  std::vector<std::string> known;
  for (const Ablation& a : all) known.push_back(a.name);
  std::istringstream names(config.names);
  for (std::string name; std::getline(names, name, ',');) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Ablation& a) { return a.name == name; });
    if (found == all.end())
      throw UsageError("There is no ablation '" + name + "'. The nearest is '" + harness::nearest(name, known) + "'; ablate --list names all.");
    out.push_back(*found);
  }
  return out;
}

std::vector<Comparison> run_ablation(const Ablation& ablation, const AblateRecipe& recipe, const comm::World& world, const harness::RunContext& context,
                                     const Listener& listener) {
  const Place place{.ranks = world.size(), .cores = static_cast<int>(std::thread::hardware_concurrency()), .device = recipe.device};
  const std::string reason = ablation.unsupported(place);
  const std::int64_t repetitions = !reason.empty() ? 1 : recipe.ablate.repetitions > 0 ? recipe.ablate.repetitions : ablation.repetitions;
  const BackgroundLoad load(reason.empty() && ablation.under_load && world.rank() == 0);
  std::vector<Comparison> rows;
  for (std::size_t i = 1; i < ablation.variants.size(); ++i)
    for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
      const Variant& variant = ablation.variants[i];
      // Each repetition builds both sides anew: where memory lies is part of what varies from run to run.
      Comparison row = !reason.empty() ? not_supported(ablation, variant, reason) : PairRun(ablation, variant, recipe, world, context).run();
      row.repetition = repetition;
      listener.say(row.ablation + ": " + row.variant + (repetitions > 1 ? " #" + std::to_string(repetition + 1) : "") + " against " + row.baseline + ": " +
                   (row.status == "measured" ? effect_text(row) : row.status + ", " + row.reason));
      listener.row(row);
      rows.push_back(row);
      if (row.samples.stopped == "interrupted") throw Interrupted("Interrupted. What was measured until then is in the result.");
    }
  return rows;
}

std::string effect_text(const Comparison& c) {
  const auto e = result::effect(c.samples);
  if (!e) return "too few rounds for an interval";
  char text[160];
  std::snprintf(text, sizeof text, "step time %+.2f %% (95 %%: %+.2f to %+.2f), %zu pairs, stopped: %s", 100 * e->estimate, 100 * e->low, 100 * e->high,
                c.samples.size(), c.samples.stopped.c_str());
  return text;
}

}  // namespace ttt::ablations
