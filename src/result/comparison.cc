#include "result/comparison.h"

#include <algorithm>
#include <cmath>

namespace ttt::result {
namespace {

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

std::vector<double> centres(const std::vector<std::vector<double>>& builds) {
  std::vector<double> out;
  for (const auto& rounds : builds) out.push_back(hodges_lehmann(rounds));
  return out;
}

// Of several builds, over their Hodges-Lehmann estimates; of one, over its rounds. Nothing of numbers that are not
// finite: no interval holds them.
std::optional<Interval> over_builds(const std::vector<std::vector<double>>& builds, double confidence) {
  for (const auto& rounds : builds)
    if (!std::all_of(rounds.begin(), rounds.end(), [](double x) { return std::isfinite(x); })) return std::nullopt;
  return signed_rank_interval(builds.size() == 1 ? builds[0] : centres(builds), confidence);
}

void check_pairs(const Json& pairs, const std::string& path) {
  for (const auto& [name, pair] : pairs.items())
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
      throw DataError("'" + path + "." + name + "' in the result is no pair of numbers. Take the original file.");
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

std::vector<double> build_effects(const PairedSamples& s) { return centres(round_effects(s)); }

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

void PairedSamples::check(const PairedSamples& s, const std::string& path) {
  const std::size_t n = s.size();
  if (s.build.size() != n || s.round.size() != n || s.variant_first.size() != n || s.baseline_s.size() != n ||
      s.variant_s.size() != n)
    throw DataError("The columns of '" + path + "' in the result have different lengths. Take the original file.");
  for (std::size_t i = 0; i < n; ++i)
    if (!(s.baseline_s[i] > 0 && s.variant_s[i] > 0))
      throw DataError("A time in '" + path + "' of the result is not positive. Take the original file.");
  if (!(s.confidence > 0 && s.confidence < 1))
    throw DataError("'" + path + ".confidence' in the result is not between 0 and 1. Take the original file.");
  for (const auto& [name, phase] : s.phases)
    if (phase.baseline_s.size() != s.rounds() || phase.variant_s.size() != s.rounds())
      throw DataError("'" + path + ".phase_s.values." + name +
                      "' of the result does not have one number for each round: lists of different lengths. Take the "
                      "original file.");
}

void Comparison::check(const Comparison& c, const std::string& path) {
  check_pairs(c.phases, path + ".phase_s"), check_pairs(c.counters, path + ".counters");
}

}  // namespace ttt::result
