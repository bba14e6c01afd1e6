#include "result/comparison.h"

#include <cmath>

#include "result/members.h"

namespace ttt::result {
namespace {

Json samples_json(const PairedSamples& s) {
  return {{"ranks", "max"},
          {"warmup_turns", s.warmup_turns},
          {"stopped", s.stopped},
          {"build", s.build},
          {"round", s.round},
          {"step", s.step},
          {"variant_first", s.variant_first},
          {"baseline_s", s.baseline_s},
          {"variant_s", s.variant_s}};
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
  if (s.build.size() != n || s.round.size() != n || s.variant_first.size() != n || s.baseline_s.size() != n || s.variant_s.size() != n)
    throw DataError("The columns of '" + path + "' in the result have different lengths. Take the original file.");
  for (std::size_t i = 0; i < n; ++i)
    if (!(s.baseline_s[i] > 0 && s.variant_s[i] > 0))
      throw DataError("A time in '" + path + "' of the result is not positive. Take the original file.");
  return s;
}

// {"name": [baseline, variant], ...}
const Json& pairs_of_numbers(const Json& j, const std::string& key, const std::string& path) {
  const Json& pairs = get_object(j, key, path);
  for (const auto& [name, pair] : pairs.items())
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
      throw DataError("'" + path + "." + key + "." + name + "' in the result is no pair of numbers. Take the original file.");
  return pairs;
}

}  // namespace

std::size_t PairedSamples::builds() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < build.size(); ++i) n += i == 0 || build[i] != build[i - 1];
  return n;
}

std::vector<std::vector<double>> round_effects(const PairedSamples& s) {
  std::vector<std::vector<double>> builds;
  for (std::size_t i = 0; i < s.size();) {
    if (i == 0 || s.build[i] != s.build[i - 1]) builds.emplace_back();
    double total = 0;
    std::size_t n = 0;
    for (const std::size_t first = i; i < s.size() && s.build[i] == s.build[first] && s.round[i] == s.round[first]; ++i, ++n)
      total += std::log(s.variant_s[i] / s.baseline_s[i]);
    builds.back().push_back(total / static_cast<double>(n));
  }
  return builds;
}

std::optional<Interval> effect(const PairedSamples& samples) {
  const auto builds = round_effects(samples);
  std::vector<double> effects;
  if (builds.size() == 1) effects = builds[0];
  else
    for (const auto& rounds : builds) effects.push_back(hodges_lehmann(rounds));
  std::optional<Interval> i = signed_rank_interval(effects);
  if (i) *i = {std::expm1(i->estimate), std::expm1(i->low), std::expm1(i->high)};
  return i;
}

Json comparison_json(const Comparison& c) {
  Json j = {{"ablation", c.ablation}, {"question", c.question},     {"expectation", c.expectation}, {"baseline", c.baseline},
            {"variant", c.variant},   {"setting", c.setting},       {"design", c.design},           {"factors", c.factors},
            {"repetition", c.repetition}, {"status", c.status},     {"reason", c.reason},           {"promise", c.promise}};
  j["gate"] = {{"steps", c.gate_steps}, {"promised_difference", c.promised_difference}, {"largest_difference", c.largest_difference}};
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
    trainings.push_back({{"variant", t.variant}, {"seed", t.seed}, {"reached", t.reached}, {"epochs", t.epochs}, {"seconds_s", t.seconds},
                         {"box_ap", t.box_ap}, {"mask_ap", t.mask_ap}});
  return {{"ablation", row.ablation}, {"question", row.question}, {"expectation", row.expectation}, {"baseline", row.baseline},
          {"target_box_ap", row.target_box_ap}, {"target_mask_ap", row.target_mask_ap}, {"eval_every_epochs", row.eval_every_epochs},
          {"trainings", trainings}, {"problem", row.problem}};
}

ConvergenceRow convergence_from_json(const Json& j, const std::string& path) {
  ConvergenceRow row{.ablation = get<std::string>(j, "ablation", path), .question = get<std::string>(j, "question", path),
                     .expectation = get<std::string>(j, "expectation", path), .baseline = get<std::string>(j, "baseline", path),
                     .target_box_ap = get<double>(j, "target_box_ap", path), .target_mask_ap = get<double>(j, "target_mask_ap", path),
                     .eval_every_epochs = get<double>(j, "eval_every_epochs", path),
                     .problem = get<std::string>(j, "problem", path)};
  std::size_t i = 0;
  for (const Json& t : get_array(j, "trainings", path)) {
    const std::string at = path + ".trainings[" + std::to_string(i++) + "]";
    row.trainings.push_back({.variant = get<std::string>(t, "variant", at), .seed = get<std::int64_t>(t, "seed", at),
                             .reached = get<bool>(t, "reached", at), .epochs = get<double>(t, "epochs", at),
                             .seconds = get<double>(t, "seconds_s", at), .box_ap = get<double>(t, "box_ap", at), .mask_ap = get<double>(t, "mask_ap", at)});
  }
  return row;
}

}  // namespace ttt::result
