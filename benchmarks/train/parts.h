// From a recipe to the parts of a run.
#pragma once

#include <map>
#include <string>

#include "comm/world.h"
#include "harness/app.h"
#include "train/trainer.h"

namespace ttt {

// Data, model and communicators of one rank, alive for the run.
struct Run {
  train::Recipe recipe;  // resolved: classes, batch and threads are numbers, not "automatic"
  std::unique_ptr<comm::Communicator> gradients, control;
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<data::ShardSet> train_images, eval_images;
  std::shared_ptr<const data::TrainOrder> order;
  train::Parts parts;
};

// Collective. Throws UsageError where the recipe contradicts the launch or the data.
Run build_run(const train::Recipe& recipe, const comm::World& world, const harness::RunContext& context);
result::Json describe(const Run& run);
// Of LibTorch, MPI and HDF5, for the result's provenance.
std::map<std::string, result::LibraryVersion> library_versions(const comm::World& world);

}  // namespace ttt
