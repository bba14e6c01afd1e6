#include "measure/pair_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "measure/node_use.h"
#include "measure/train_arm.h"
#include "settings/fields_json.h"

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

// The largest relative difference of an output over all ranks, and whether any bit differs.
struct Difference {
  double largest = 0;
  bool any = false;
  std::string first;  // where, on this rank; empty: on another one
};
Difference difference(Arm& a, Arm& b) {
  double shared[2] = {0, 0};
  std::string first;
  const std::size_t n = std::min(a.outputs().size(), b.outputs().size());
  if (a.outputs().size() != b.outputs().size()) shared[0] = 1e9, shared[1] = 1;  // not even as many
  for (std::size_t i = 0; i < n; ++i) {
    const double x = a.outputs()[i], y = b.outputs()[i];
    if (std::memcmp(&x, &y, sizeof x) == 0) continue;
    shared[1] = 1;
    if (first.empty()) first = a.place_of(i);
    const double d = std::abs(x - y) / std::max(std::abs(x), 1e-6);
    shared[0] = std::max(shared[0], std::isfinite(d) ? d : 1e9);
  }
  a.control().all_reduce_max(shared, 2);
  return {shared[0], shared[1] > 0, first};
}

bool kept(const Pairing& p, const Difference& d) {
  switch (p.promise) {
    case Promise::kBitwise: return !d.any;
    case Promise::kClose: return d.largest <= p.rtol;
    case Promise::kOtherWork: return true;
  }
  return false;
}

// Each build has a seed of its own: other batches, other random numbers, the same on both sides.
std::unique_ptr<Arm> make_arm(const Pairing& pairing, const Variant& variant, const train::Recipe& recipe,
    std::int64_t build, const comm::World& world, const harness::RunContext& context) {
  train::Recipe set = recipe;
  set.seed += build;
  if (pairing.setting.change) pairing.setting.change(set);
  const Bench bench{set, world, context};
  const auto& arm = pairing.setting.arm ? pairing.setting.arm : variant.arm;
  if (!arm) return std::make_unique<TrainArm>(bench, variant, world.team());
  if (variant.change) variant.change(set);
  return arm(bench);
}

// A folder that the ablation made for itself: its name says nothing, and on another machine it is another one.
bool is_scratch(const Json& value) {
  return value.is_string() &&
         value.get_ref<const std::string&>().starts_with(std::filesystem::temp_directory_path().string() + "/");
}

result::SideChange side_change(
    const Pairing& pairing, const Variant& variant, train::Recipe recipe, const comm::World& world) {
  train::Recipe set = recipe;
  if (pairing.setting.change) pairing.setting.change(set);
  if (variant.change) variant.change(set);
  Components components = components_of(set);
  if (variant.components) variant.components(components);
  result::SideChange out{.replaces = components.replaced(), .alone = pairing.setting.arm || variant.arm};
  resolve(recipe, world), resolve(set, world);
  for (const Json& change : result::fields_changed(result::field_table(recipe), result::field_table(set)))
    out.sets[change["key"].get<std::string>()] = is_scratch(change["value"]) ? Json("DIR") : change["value"];
  return out;
}

// Means over steps of several builds, of each side.
class SideMeans {
 public:
  // `weight`: as many rounds stand behind these.
  void add(const std::map<std::string, double>& a, const std::map<std::string, double>& b, double weight) {
    weight_ += weight;
    for (const auto& [name, value] : a)
      if (const auto other = b.find(name); other != b.end())
        sums_[name][0] += weight * value, sums_[name][1] += weight * other->second;
  }
  void write(Json& out) const {
    for (const auto& [name, sums] : sums_) out[name] = {sums[0] / weight_, sums[1] / weight_};
  }

 private:
  std::map<std::string, std::array<double, 2>> sums_;
  double weight_ = 0;
};

// An arm and its nodes, which are looked at around each turn.
class WatchedArm final : public harness::Arm {
 public:
  WatchedArm(Arm& arm, const comm::World& world) : arm_(arm), use_(world) {}
  std::vector<double> block(int steps) override {
    use_.begin();
    std::vector<double> seconds = arm_.block(steps);
    use_.end();
    return seconds;
  }
  const std::vector<harness::PhaseTimes>& phases() const override { return arm_.phases(); }
  NodeUse& use() { return use_; }

 private:
  Arm& arm_;
  NodeUse use_;
};

// Why there is nothing to time.
struct Refused {
  const char* status;
  std::string reason;
};

class PairRun final : public harness::Builder {
 public:
  PairRun(const Pairing& pairing, const train::Recipe& recipe, const PairLimits& limits, const comm::World& world,
      const harness::RunContext& context, const std::function<void(const harness::Sofar&)>& told)
      : pairing_(pairing), recipe_(recipe), limits_(limits), world_(world), context_(context), told_(told),
        control_(world.communicator()), row_(empty_row(pairing)) {
    row_.against_recipe = {
        side_change(pairing, pairing.baseline, recipe, world), side_change(pairing, pairing.variant, recipe, world)};
  }

  Comparison run() {
    try {
      row_.samples = harness::measure_pairs(*this, limits_.timing);
      // Both are collective: one after the other, in the same order on every rank.
      const Counters operators_a = a_->operators(limits_.observed_steps),
                     operators_b = b_->operators(limits_.observed_steps);
      for (const auto& [phase, s] : row_.samples.phases)
        row_.phases[phase] = {sum(s.baseline_s) / static_cast<double>(s.baseline_s.size()),
            sum(s.variant_s) / static_cast<double>(s.variant_s.size())};
      usage_.write(row_.counters);
      row_.noise = std::move(noise_);
      SideMeans operators;
      operators.add(operators_a, operators_b, 1);
      operators.write(row_.counters);
    } catch (const Refused& refused) {  // by all ranks
      row_.status = refused.status, row_.reason = refused.reason;
    }
    return row_;
  }

  harness::Sides build(std::int64_t number, bool variant_first) override {
    b_.reset(), a_.reset();
    const double start_s = now_s();
    if (variant_first) b_ = make_arm(pairing_, pairing_.variant, recipe_, number, world_, context_);
    a_ = make_arm(pairing_, pairing_.baseline, recipe_, number, world_, context_);
    if (!variant_first) b_ = make_arm(pairing_, pairing_.variant, recipe_, number, world_, context_);
    if (number == 0) {
      row_.built = built_difference(a_->describe(), b_->describe());
      if (row_.built.empty() && !pairing_.built_alike)
        throw Refused{"same_build", "both sides were built alike: the change reached no part"};
    }
    gate(number == 0 ? limits_.gate_steps : 1);
    double seconds = now_s() - start_s;
    control_->all_reduce_max(&seconds, 1);  // the ranks' clocks differ; they must decide alike
    return {watched_a_.emplace(*a_, world_), watched_b_.emplace(*b_, world_), seconds, step_s_};
  }

  void warm() override {
    a_->start_counting(), b_->start_counting();
    watched_a_->use() = watched_b_->use() = NodeUse(world_);
  }

  void measured(std::int64_t rounds) override {
    if (const Difference d = difference(*a_, *b_); pairing_.promise == Promise::kBitwise && d.any) {
      row_.largest_difference = d.largest;
      throw Refused{
          "promise_broken", "a number of " + (d.first.empty() ? "another rank" : d.first) +
                                " differed during the measurement, promised were the same bits in every step"};
    }
    const auto weight = static_cast<double>(rounds);
    const Counters usage_a = a_->usage(), usage_b = b_->usage();
    usage_.add(usage_a, usage_b, weight);
    const Counters noise_a = watched_a_->use().noise(*control_), noise_b = watched_b_->use().noise(*control_);
    for (const auto& [name, sides] : known_to_both(noise_a, noise_b)) noise_[name].push_back(sides);
  }

  void told(const harness::Sofar& sofar) override { told_(sofar); }

  bool interrupted() override {
    double asked = context_.signals.requested() ? 1 : 0;
    control_->all_reduce_max(&asked, 1);
    return asked > 0;
  }

 private:
  // The first steps of every build, before any is timed: several of the first; of the others, which differ from it by
  // their seed alone, one.
  void gate(int steps) {
    row_.gate_steps = std::max<std::int64_t>(row_.gate_steps, steps);
    step_s_ = (a_->block(steps).back() + b_->block(steps).back()) / 2;
    const Difference d = difference(*a_, *b_);
    if (pairing_.promise != Promise::kOtherWork) row_.largest_difference = std::max(row_.largest_difference, d.largest);
    if (kept(pairing_, d)) return;
    char text[160];
    std::snprintf(text, sizeof text, "the numbers of the first %d steps differ by up to %.2g, promised was %s", steps,
        d.largest, pairing_.promise == Promise::kBitwise ? "the same bits" : "less");
    throw Refused{"promise_broken", text};
  }

  const Pairing& pairing_;
  const train::Recipe& recipe_;
  const PairLimits& limits_;
  const comm::World& world_;
  const harness::RunContext& context_;
  const std::function<void(const harness::Sofar&)>& told_;
  const std::unique_ptr<comm::Communicator> control_;
  std::unique_ptr<Arm> a_, b_;
  std::optional<WatchedArm> watched_a_, watched_b_;
  double step_s_ = 0;  // the last one of the gate
  SideMeans usage_;
  decltype(Comparison::noise) noise_;
  Comparison row_;
};

}  // namespace

void resolve(train::Recipe& recipe, const comm::World& world) {
  if (recipe.train.global_batch == 0) resolve_batch(recipe.train, world.team());
  recipe.train.threads = threads_of_rank(recipe.train.threads, world.team());
}

result::Comparison empty_row(const Pairing& p) {
  // none, or the planted one
  const double known = (1 + p.variant.planted) / (1 + p.baseline.planted) - 1;
  return {.ablation = p.ablation,
      .question = p.question,
      .expectation = p.expectation,
      .baseline = p.baseline.name,
      .variant = p.variant.name,
      .setting = p.setting.name,
      .design = p.design,
      .factors = p.factors,
      .repetition = p.repetition,
      .promise = promise_name(p.promise),
      .promised_difference = p.promise == Promise::kClose ? p.rtol : 0,
      .known_effect = p.built_alike ? std::optional(known) : std::nullopt};
}

result::Comparison run_pair(const Pairing& pairing, const train::Recipe& recipe, const PairLimits& limits,
    const comm::World& world, const harness::RunContext& context,
    const std::function<void(const harness::Sofar&)>& told) {
  return PairRun(pairing, recipe, limits, world, context, told).run();
}

}  // namespace ttt::ablations
