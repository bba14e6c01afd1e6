#include "result/comparison.h"

#include <algorithm>
#include <cmath>

#include "result/members.h"

namespace ttt::result {
namespace {

// To the nanosecond, which is what clocks resolve: a mean of steps has twice as many digits, of which none says more.
std::vector<double> nanoseconds(std::vector<double> seconds) {
  for (double& s : seconds) s = std::round(1e9 * s) / 1e9;
  return seconds;
}

Json phase_samples_json(const std::map<std::string, PhaseSamples>& phases) {
  Json values = Json::object();
  for (const auto& [name, s] : phases)
    values[name] = {{"baseline", nanoseconds(s.baseline_s)}, {"variant", nanoseconds(s.variant_s)}};
  return {{"ranks", "mean"}, {"values", values}};
}

Json samples_json(const PairedSamples& s) {
  Json j = {{"ranks", "max"}, {"warmup_turns", s.warmup_turns}, {"stopped", s.stopped}, {"confidence", s.confidence},
      {"build", s.build}, {"round", s.round}, {"step", s.step}, {"variant_first", s.variant_first},
      {"baseline_s", s.baseline_s}, {"variant_s", s.variant_s}};
  if (!s.phases.empty()) j["phase_s"] = phase_samples_json(s.phases);
  return j;
}

std::map<std::string, PhaseSamples> phase_samples_from_json(
    const Json& j, const std::string& path, std::size_t rounds) {
  std::map<std::string, PhaseSamples> phases;
  const Json& values = get_object(j, "values", path);
  for (const auto& [name, sides] : values.items()) {
    const std::string at = path + ".values." + name;
    if (!sides.is_object()) throw DataError("'" + at + "' in the result is no object. Take the original file.");
    PhaseSamples& s = phases[name] = {get_list<double>(sides, "baseline", at), get_list<double>(sides, "variant", at)};
    if (s.baseline_s.size() != rounds || s.variant_s.size() != rounds)
      throw DataError("'" + at +
                      "' of the result does not have one number for each round: lists of different lengths. Take the "
                      "original file.");
  }
  return phases;
}

PairedSamples samples_from_json(const Json& j, const std::string& path) {
  PairedSamples s{.round = get_list<std::int64_t>(j, "round", path),
      .step = get_list<std::int64_t>(j, "step", path),
      .variant_first = get_list<std::int64_t>(j, "variant_first", path),
      .baseline_s = get_list<double>(j, "baseline_s", path),
      .variant_s = get_list<double>(j, "variant_s", path),
      .stopped = get<std::string>(j, "stopped", path)};
  const std::size_t n = s.step.size();
  if (j.contains("warmup_rounds")) {  // of earlier versions of the program, which built once, and warmed up by rounds
    s.build.assign(n, 0);
    s.warmup_turns = 2 * get<std::int64_t>(j, "warmup_rounds", path);
  } else {
    s.build = get_list<std::int64_t>(j, "build", path);
    s.warmup_turns = get<std::int64_t>(j, "warmup_turns", path);
  }
  if (s.build.size() != n || s.round.size() != n || s.variant_first.size() != n || s.baseline_s.size() != n ||
      s.variant_s.size() != n)
    throw DataError("The columns of '" + path + "' in the result have different lengths. Take the original file.");
  for (std::size_t i = 0; i < n; ++i)
    if (!(s.baseline_s[i] > 0 && s.variant_s[i] > 0))
      throw DataError("A time in '" + path + "' of the result is not positive. Take the original file.");
  if (j.contains("confidence")) s.confidence = get<double>(j, "confidence", path);
  if (!(s.confidence > 0 && s.confidence < 1))
    throw DataError("'" + path + ".confidence' in the result is not between 0 and 1. Take the original file.");
  if (j.contains("phase_s"))
    s.phases = phase_samples_from_json(get_object(j, "phase_s", path), path + ".phase_s", s.rounds());
  return s;
}

bool begins_build(const PairedSamples& s, std::size_t i) { return i == 0 || s.build[i] != s.build[i - 1]; }
bool begins_round(const PairedSamples& s, std::size_t i) { return begins_build(s, i) || s.round[i] != s.round[i - 1]; }

// Means over the steps of each round, build by build.
template <class Value> std::vector<std::vector<double>> by_round(const PairedSamples& s, Value&& value) {
  std::vector<std::vector<double>> builds;
  double total = 0;
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (begins_build(s, i)) builds.emplace_back();
    total += value(i), ++n;
    if (i + 1 < s.size() && !begins_round(s, i + 1)) continue;
    builds.back().push_back(total / static_cast<double>(n));
    total = 0, n = 0;
  }
  return builds;
}

// Of several builds, over their Hodges-Lehmann estimates; of one, over its rounds. Nothing of numbers that are not
// finite: no interval holds them.
std::optional<Interval> over_builds(const std::vector<std::vector<double>>& builds, double confidence) {
  for (const auto& rounds : builds)
    if (!std::all_of(rounds.begin(), rounds.end(), [](double x) { return std::isfinite(x); })) return std::nullopt;
  if (builds.size() == 1) return signed_rank_interval(builds[0], confidence);
  std::vector<double> centres;
  for (const auto& rounds : builds) centres.push_back(hodges_lehmann(rounds));
  return signed_rank_interval(centres, confidence);
}

// {"name": [baseline, variant], ...}
const Json& pairs_of_numbers(const Json& j, const std::string& key, const std::string& path) {
  const Json& pairs = get_object(j, key, path);
  for (const auto& [name, pair] : pairs.items())
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
      throw DataError(
          "'" + path + "." + key + "." + name + "' in the result is no pair of numbers. Take the original file.");
  return pairs;
}

}  // namespace

std::size_t PairedSamples::builds() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < build.size(); ++i) n += begins_build(*this, i);
  return n;
}

std::size_t PairedSamples::rounds() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < round.size(); ++i) n += begins_round(*this, i);
  return n;
}

std::vector<std::vector<double>> round_effects(const PairedSamples& s) {
  return by_round(s, [&](std::size_t i) { return std::log(s.variant_s[i] / s.baseline_s[i]); });
}

std::optional<Interval> effect(const PairedSamples& samples) {
  std::optional<Interval> i = over_builds(round_effects(samples), samples.confidence);
  if (i) *i = {std::expm1(i->estimate), std::expm1(i->low), std::expm1(i->high)};
  return i;
}

std::optional<Interval> step_change(const PairedSamples& s) {
  return over_builds(by_round(s, [&](std::size_t i) { return s.variant_s[i] - s.baseline_s[i]; }), s.confidence);
}

std::map<std::string, Interval> phase_changes(const PairedSamples& s) {
  std::map<std::string, Interval> changes;
  for (const auto& [name, phase] : s.phases) {
    std::vector<std::vector<double>> builds;
    for (std::size_t i = 0, round = 0; i < s.size(); ++i) {
      if (!begins_round(s, i)) continue;
      if (begins_build(s, i)) builds.emplace_back();
      builds.back().push_back(phase.variant_s[round] - phase.baseline_s[round]);
      ++round;
    }
    if (const auto change = over_builds(builds, s.confidence)) changes[name] = *change;
  }
  return changes;
}

Json comparison_json(const Comparison& c) {
  Json j = {{"ablation", c.ablation}, {"question", c.question}, {"expectation", c.expectation},
      {"baseline", c.baseline}, {"variant", c.variant}, {"setting", c.setting}, {"design", c.design},
      {"factors", c.factors}, {"repetition", c.repetition}, {"status", c.status}, {"reason", c.reason},
      {"promise", c.promise}};
  j["gate"] = {{"steps", c.gate_steps}, {"promised_difference", c.promised_difference},
      {"largest_difference", c.largest_difference}};
  j["built"] = c.built;
  j["phase_s"] = c.phases;
  j["counters"] = c.counters;
  j["samples"] = samples_json(c.samples);
  return j;
}

Comparison comparison_from_json(const Json& j, const std::string& path) {
  Comparison c{.ablation = get<std::string>(j, "ablation", path),
      .question = get<std::string>(j, "question", path),
      .expectation = get<std::string>(j, "expectation", path),
      .baseline = get<std::string>(j, "baseline", path),
      .variant = get<std::string>(j, "variant", path),
      .repetition = get<std::int64_t>(j, "repetition", path),
      .status = get<std::string>(j, "status", path),
      .reason = get<std::string>(j, "reason", path),
      .promise = get<std::string>(j, "promise", path)};
  const Json& gate = get_object(j, "gate", path);
  c.gate_steps = get<std::int64_t>(gate, "steps", path + ".gate");
  c.promised_difference = get<double>(gate, "promised_difference", path + ".gate");
  c.largest_difference = get<double>(gate, "largest_difference", path + ".gate");
  c.built = get_object(j, "built", path);
  c.phases = pairs_of_numbers(j, "phase_s", path);
  // Of earlier versions of the program: not counted, one design.
  if (j.contains("counters")) c.counters = pairs_of_numbers(j, "counters", path);
  if (j.contains("setting")) c.setting = get<std::string>(j, "setting", path);
  if (j.contains("design")) c.design = get<std::string>(j, "design", path);
  if (j.contains("factors")) c.factors = get_list<std::string>(j, "factors", path);
  c.samples = samples_from_json(get_object(j, "samples", path), path + ".samples");
  return c;
}

Json convergence_json(const ConvergenceRow& row) {
  Json trainings = Json::array();
  for (const Training& t : row.trainings)
    trainings.push_back({{"variant", t.variant}, {"seed", t.seed}, {"reached", t.reached}, {"epochs", t.epochs},
        {"seconds_s", t.seconds}, {"metrics", metrics_json(t.metrics)}});
  return {{"ablation", row.ablation}, {"question", row.question}, {"expectation", row.expectation},
      {"baseline", row.baseline}, {"target", metrics_json(row.target)}, {"eval_every_epochs", row.eval_every_epochs},
      {"trainings", trainings}, {"problem", row.problem}};
}

namespace {

// The metrics under `key`; earlier versions of the program had two members for those of Mask R-CNN.
Metrics box_and_mask(
    const Json& j, const std::string& key, const std::string& box, const std::string& mask, const std::string& path) {
  if (j.contains(key)) return metrics_from_json(get_object(j, key, path), join(path, key));
  return {{"bbox_ap", get<double>(j, box, path)}, {"segm_ap", get<double>(j, mask, path)}};
}

}  // namespace

ConvergenceRow convergence_from_json(const Json& j, const std::string& path) {
  ConvergenceRow row{.ablation = get<std::string>(j, "ablation", path),
      .question = get<std::string>(j, "question", path),
      .expectation = get<std::string>(j, "expectation", path),
      .baseline = get<std::string>(j, "baseline", path),
      .target = box_and_mask(j, "target", "target_box_ap", "target_mask_ap", path),
      .eval_every_epochs = get<double>(j, "eval_every_epochs", path),
      .problem = get<std::string>(j, "problem", path)};
  std::size_t i = 0;
  for (const Json& t : get_array(j, "trainings", path)) {
    const std::string at = path + ".trainings[" + std::to_string(i++) + "]";
    row.trainings.push_back({.variant = get<std::string>(t, "variant", at),
        .seed = get<std::int64_t>(t, "seed", at),
        .reached = get<bool>(t, "reached", at),
        .epochs = get<double>(t, "epochs", at),
        .seconds = get<double>(t, "seconds_s", at),
        .metrics = box_and_mask(t, "metrics", "box_ap", "mask_ap", at)});
  }
  return row;
}

}  // namespace ttt::result
