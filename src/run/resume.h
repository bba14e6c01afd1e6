// How a program resumes the run that a checkpoint is of.
#pragma once

#include "app/app.h"
#include "checkpoint/checkpoints.h"
#include "run/recipe.h"

namespace ttt {

// Makes `app` look for a checkpoint in train.checkpoint.folder and bear the name of its run: `earlier`, which must
// outlive the app, is filled on rank 0 before app.run is called.
void find_earlier_run(harness::App<train::Recipe>& app, train::Earlier& earlier);

// Where a run starts, as every rank knows it.
struct Start {
  bool resumed = false;  // from a checkpoint
  std::int64_t step = 0;
  std::int64_t seed = 0;  // of the run that it resumes
};
// Collective; `earlier` is rank 0's.
Start start_of(const train::Earlier& earlier, const harness::RunContext& context);

}  // namespace ttt
