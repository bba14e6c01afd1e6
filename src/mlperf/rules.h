// The closed division's rules for Mask R-CNN, of MLPerf Training v3.1, as far as a run can look at itself before its
// clock starts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/epochs.h"
#include "core/error.h"
#include "data/settings.h"
#include "mlperf/config.h"
#include "result/run_record.h"
#include "settings/field_table.h"
#include "train/config.h"

namespace ttt::train {

// The rules' input: resolved settings, and the counts of the data set.
struct RunFacts {
  std::int64_t seed = 0;
  const data::DataSettings& data;
  const TrainConfig& train;
  const MlperfConfig& mlperf;
  result::FieldTable settings, reference;  // of the run, and of the recipe mlperf: what is not tunable is as there
  std::int64_t train_images = 0, eval_images = 0, categories = 0;
  Epochs epochs;

  template <class T> const T& setting(const std::string& key) const {
    if (const result::Field* field = settings.find(key)) return std::get<T>(field->value);
    throw UsageError("mlperf.division: the rules are those of Mask R-CNN, and this workload has no " + key +
                     ". Set mlperf.division=none.");
  }
};

// The run's learning rates.
std::unique_ptr<Schedule> schedule_of(const RunFacts& facts);

// A setting that breaks a rule.
using Breach = result::RelaxedRule;

// In the order of the table in mlperf_rules.cc, which has each rule once, with its source.
std::vector<Breach> closed_breaches(const RunFacts& facts);

// For division closed: the breaches that mlperf.relax names. Throws UsageError naming rule, key, value and what is
// allowed for every other one. For closed and open: throws UsageError where organisation or platform is missing. For
// none: nothing.
std::vector<Breach> relaxed_breaches(const RunFacts& facts);

// "setting = is (allowed: ...)"
std::string breach_text(const Breach& breach);

}  // namespace ttt::train
