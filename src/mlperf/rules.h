// The closed division's rules for Mask R-CNN, of MLPerf Training v3.1, as far as a run can look at itself before its clock starts.
#pragma once

#include <string>
#include <vector>

#include "data/settings.h"
#include "mlperf/config.h"
#include "models/mask_rcnn/config.h"
#include "settings/field_table.h"
#include "train/config.h"

namespace ttt::train {

// The rules' input: resolved settings, and the counts of the data set.
struct RunFacts {
  std::int64_t seed = 0;
  const data::DataSettings& data;
  const model::ModelConfig& model;
  const TrainConfig& train;
  const MlperfConfig& mlperf;
  result::FieldTable settings, reference;  // of the run, and of the recipe mlperf: what is not tunable is as there
  std::int64_t train_images = 0, eval_images = 0, categories = 0;
  std::int64_t steps_per_epoch = 0;
};

// A setting that breaks a rule.
struct Breach {
  std::string rule, setting, is, allowed;
};

// In the order of the table in mlperf_rules.cc, which has each rule once, with its source.
std::vector<Breach> closed_breaches(const RunFacts& facts);

// For division closed: the breaches that mlperf.relax names. Throws UsageError naming rule, key, value and what is allowed for every other one. For
// closed and open: throws UsageError where organisation or platform is missing. For none: nothing.
std::vector<Breach> relaxed_breaches(const RunFacts& facts);

// "setting = is (allowed: ...)"
std::string breach_text(const Breach& breach);

}  // namespace ttt::train
