// Two variants of one program, timed in turns on the same batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "result/json.h"

namespace ttt::result {

// Each entry is one step that both sides ran on the same batch. Times in seconds: between the moments at which the last rank had finished the
// step before and this one. `step` counts the measurement's steps, those that do not count included.
struct PairedSamples {
  std::vector<std::int64_t> round, step;
  std::vector<std::int64_t> variant_first;  // 1 where the variant had its turn before the baseline
  std::vector<double> baseline_s, variant_s;
  std::int64_t warmup_rounds = 0;
  std::string stopped;  // "precise", "time", "rounds" or "interrupted": what ended the measurement

  std::size_t size() const { return step.size(); }
};

// One number for each round: the mean of log(variant / baseline) over its steps. A round has both orders, so drift of the machine cancels.
std::vector<double> round_effects(const PairedSamples& samples);

// The relative change of the step's time, variant / baseline - 1, with its 95 % interval; nothing from fewer than six rounds.
std::optional<Interval> effect(const PairedSamples& samples);

// One row of an ablation.
struct Comparison {
  std::string ablation, question, expectation, baseline, variant;
  std::int64_t repetition = 0;
  // measured; not_supported here; same_build: both sides are built alike, so there is nothing to compare; promise_broken: the numbers differ
  // more than promised, so no time was taken.
  std::string status = "measured";
  std::string reason;                        // of a status other than measured
  std::string promise;                       // bitwise, close, other_work
  double promised_difference = 0, largest_difference = 0;  // relative, of a loss, over gate_steps; promised: of close
  std::int64_t gate_steps = 0;
  Json built = Json::object();               // what differs: {"reducer": [baseline, variant]}
  // Mean seconds of a step by phase, settling steps included, mean over ranks.
  Json phases = Json::object();              // {"forward": [baseline, variant]}
  PairedSamples samples;
};

Json comparison_json(const Comparison& comparison);
// Throws DataError naming the member that is missing or wrong.
Comparison comparison_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
