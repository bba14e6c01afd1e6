#include "result/comparison.h"

#include <cmath>

#include "result/members.h"

namespace ttt::result {
namespace {

Json samples_json(const PairedSamples& s) {
  return {{"ranks", "max"},
          {"warmup_rounds", s.warmup_rounds},
          {"stopped", s.stopped},
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
                  .warmup_rounds = get<std::int64_t>(j, "warmup_rounds", path),
                  .stopped = get<std::string>(j, "stopped", path)};
  const std::size_t n = s.step.size();
  if (s.round.size() != n || s.variant_first.size() != n || s.baseline_s.size() != n || s.variant_s.size() != n)
    throw DataError("The columns of '" + path + "' in the result have different lengths. Take the original file.");
  for (std::size_t i = 0; i < n; ++i)
    if (!(s.baseline_s[i] > 0 && s.variant_s[i] > 0))
      throw DataError("A time in '" + path + "' of the result is not positive. Take the original file.");
  return s;
}

}  // namespace

std::vector<double> round_effects(const PairedSamples& s) {
  std::vector<double> effects;
  for (std::size_t i = 0; i < s.size();) {
    double total = 0;
    std::size_t n = 0;
    for (const std::int64_t round = s.round[i]; i < s.size() && s.round[i] == round; ++i, ++n) total += std::log(s.variant_s[i] / s.baseline_s[i]);
    effects.push_back(total / static_cast<double>(n));
  }
  return effects;
}

std::optional<Interval> effect(const PairedSamples& samples) {
  std::optional<Interval> i = signed_rank_interval(round_effects(samples));
  if (i) *i = {std::expm1(i->estimate), std::expm1(i->low), std::expm1(i->high)};
  return i;
}

Json comparison_json(const Comparison& c) {
  Json j = {{"ablation", c.ablation}, {"question", c.question},     {"expectation", c.expectation}, {"baseline", c.baseline},
            {"variant", c.variant},   {"repetition", c.repetition}, {"status", c.status},           {"reason", c.reason},
            {"promise", c.promise}};
  j["gate"] = {{"steps", c.gate_steps}, {"promised_difference", c.promised_difference}, {"largest_difference", c.largest_difference}};
  j["built"] = c.built;
  j["phase_s"] = c.phases;
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
  c.phases = get_object(j, "phase_s", path);
  for (const auto& [name, pair] : c.phases.items())
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
      throw DataError("'" + path + ".phase_s." + name + "' in the result is no pair of numbers. Take the original file.");
  c.samples = samples_from_json(get_object(j, "samples", path), path + ".samples");
  return c;
}

}  // namespace ttt::result
