// Settings of the training itself: batch, length, target, update, and how a step runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/epochs.h"
#include "settings/field_table.h"
#include "train/loss_scaler.h"
#include "train/optimizers/optimizer.h"
#include "train/phases.h"
#include "train/reducers/reducer.h"
#include "train/schedules/schedule.h"

namespace ttt::train {

// The keys and their documentation are in run/recipe.h, among those of the run's other parts.
struct TrainConfig {
  std::int64_t global_batch = 0;
  std::int64_t images_per_rank = 2, accumulate = 1;
  double epochs = 26;
  std::int64_t max_steps = 0;
  double eval_every_epochs = 1.0;
  double eval_near_every_epochs = 0, eval_near = 0.7;
  double eval_from_epochs = 0;
  bool eval_overlap = false;
  result::AnyGroup targets;  // the workload's
  bool copy_stream = true;
  std::string graphs = "none";
  LossScaleConfig loss_scale;
  std::string weights, weights_backbone, pretraining;
  std::string save_weights;
  ReducerConfig reducer;
  ScheduleConfig schedule;
  PhasesConfig phases;
  OptimizerConfig optimizer;
};

// Steps of a whole training: at least one.
inline std::int64_t planned_steps(const TrainConfig& c, const Epochs& epochs) {
  return std::max<std::int64_t>(1, epochs.steps(c.epochs));
}

}  // namespace ttt::train
