#include "ablations/runner/pair_run.h"

#include <cmath>
#include <cstring>

#include "ablations/runner/train_arm.h"

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

std::unique_ptr<Arm> make_arm(const Pairing& pairing, const Variant& variant, const train::Recipe& recipe, const comm::World& world,
                              const harness::RunContext& context) {
  train::Recipe set = recipe;
  if (pairing.setting.change) pairing.setting.change(set);
  const Bench bench{set, world, context};
  if (!variant.arm) return std::make_unique<TrainArm>(bench, variant, world.team());
  if (variant.change) variant.change(set);
  return variant.arm(bench);
}

template <class Values>
void pair_up(Json& out, const Values& a, const Values& b) {
  for (const auto& [name, value] : a)
    if (const auto other = b.find(name); other != b.end()) out[name] = {value, other->second};
}

class PairRun {
 public:
  PairRun(const Pairing& pairing, const train::Recipe& recipe, const PairLimits& limits, const comm::World& world, const harness::RunContext& context)
      : pairing_(pairing), limits_(limits), context_(context), row_(empty_row(pairing)) {
    // Which side is built first decides where its memory lies, which is worth some tenths of a per cent: repetitions take turns.
    const bool b_first = pairing.repetition % 2 == 1;
    if (b_first) b_ = make_arm(pairing, pairing.variant, recipe, world, context);
    a_ = make_arm(pairing, pairing.baseline, recipe, world, context);
    if (!b_first) b_ = make_arm(pairing, pairing.variant, recipe, world, context);
  }

  Comparison run() {
    row_.built = built_difference(a_->describe(), b_->describe());
    if (row_.built.empty() && !pairing_.built_alike) return refused("same_build", "both sides were built alike: the change reached no part");
    row_.gate_steps = limits_.gate_steps;
    a_->block(limits_.gate_steps);
    b_->block(limits_.gate_steps);
    const Difference d = difference(*a_, *b_);
    row_.largest_difference = pairing_.promise == Promise::kOtherWork ? 0 : d.largest;
    if (kept(pairing_, d)) return measured();
    char text[160];
    std::snprintf(text, sizeof text, "the numbers of the first %d steps differ by up to %.2g, promised was %s", limits_.gate_steps, d.largest,
                  pairing_.promise == Promise::kBitwise ? "the same bits" : "less");
    return refused("promise_broken", text);
  }

 private:
  Comparison refused(const char* status, const std::string& reason) {
    row_.status = status, row_.reason = reason, row_.samples = {}, row_.phases = Json::object(), row_.counters = Json::object();
    return row_;
  }

  Comparison measured() {
    row_.samples = harness::measure_pairs(*a_, *b_, limits_.timing, [&] { a_->start_counting(), b_->start_counting(); }, [&] { return interrupted(); });
    if (const Difference d = difference(*a_, *b_); pairing_.promise == Promise::kBitwise && d.any) {
      row_.largest_difference = d.largest;
      return refused("promise_broken", "a number of " + (d.first.empty() ? "another rank" : d.first) + " differed during the measurement, promised were the same bits in every step");
    }
    // Both are collective: one after the other, in the same order on every rank.
    const auto phases_a = a_->phases(), phases_b = b_->phases();
    pair_up(row_.phases, phases_a, phases_b);
    const Counters counters_a = a_->counters(limits_.observed_steps), counters_b = b_->counters(limits_.observed_steps);
    pair_up(row_.counters, counters_a, counters_b);
    return row_;
  }

  bool interrupted() {
    double asked = context_.signals.requested() ? 1 : 0;
    a_->control().all_reduce_max(&asked, 1);
    return asked > 0;
  }

  const Pairing& pairing_;
  const PairLimits& limits_;
  const harness::RunContext& context_;
  std::unique_ptr<Arm> a_, b_;
  Comparison row_;
};

}  // namespace

result::Comparison empty_row(const Pairing& p) {
  return {.ablation = p.ablation, .question = p.question, .expectation = p.expectation, .baseline = p.baseline.name, .variant = p.variant.name,
          .setting = p.setting.name, .design = p.design, .factors = p.factors, .repetition = p.repetition, .promise = promise_name(p.promise),
          .promised_difference = p.promise == Promise::kClose ? p.rtol : 0};
}

result::Comparison run_pair(const Pairing& pairing, const train::Recipe& recipe, const PairLimits& limits, const comm::World& world,
                            const harness::RunContext& context) {
  return PairRun(pairing, recipe, limits, world, context).run();
}

}  // namespace ttt::ablations
