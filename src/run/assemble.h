// From a recipe to the parts of a run.
#pragma once

#include <map>
#include <string>

#include "app/app.h"
#include "checkpoint/checkpoints.h"
#include "comm/world.h"
#include "run/accelerator.h"
#include "run/components.h"
#include "run/recipe.h"
#include "telemetry/part_norm.h"
#include "telemetry/trace_collection.h"
#include "train/trainer.h"

namespace ttt {

// Data, model and communicators of one rank, alive for the run.
struct Run {
  train::Recipe recipe;                    // resolved: classes, batch and threads are numbers, not "automatic"
  std::unique_ptr<trace::Recorder> trace;  // where the parts record; null without train.trace_steps
  std::unique_ptr<comm::RankState> place;  // where this rank stands, for its heartbeat
  train::Accelerator accelerator;
  std::unique_ptr<model::DetectionOps> ops;     // that the model is made with
  std::unique_ptr<comm::Communicator> control;  // carries host memory
  // under `gradients`, where the accelerator's memory needs one of its own; else null
  std::unique_ptr<comm::Communicator> host_of_gradients;
  std::unique_ptr<comm::Communicator> gradients;
  std::unique_ptr<train::TraceCollection> traces;  // of trace, over the ranks
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<data::ShardSet> train_images, eval_images;
  std::string data_name;                            // for people: "1,600 generated images"
  std::shared_ptr<const data::TrainOrder> order;    // of the recipe: how long an epoch is
  std::shared_ptr<const data::BatchOrder> batches;  // that the loader follows
  std::string memory = "returned";                  // what becomes of freed memory
  std::string deals = "in order";                   // how a global batch's images are dealt out to the ranks
  train::Parts parts;
  const train::StepWithPartNorm* part_norm = nullptr;  // in parts.step, where train.telemetry.noise_scale asks for it

  data::OrderSettings order_settings() const;        // of this rank
  data::LoaderStart loader_start() const;            // of training, at its first step
  eval::EvaluationInputs evaluation_inputs() const;  // of eval_images
  eval::EvaluationInputs evaluation_inputs(const data::ShardSet& images) const;
};

// Threads of a rank's tensor operations: `wanted` (train.threads), or where that is 0 its share of the node's cores, as
// far as it may use them.
int threads_of_rank(std::int64_t wanted, const comm::Team& team);
// Fills in global_batch and images_per_rank, each from the other. Throws UsageError where the ranks do not divide the
// batch.
void resolve_batch(train::TrainConfig& train, const comm::Team& team);
// Before MKL's first call (any matrix product) of the process: the same bits from run to run with several threads.
void make_mkl_reproducible();
// What the GPUs do, for the result; null on a CPU, with train.gpu_every_s = 0, and, with a warning in the result, where
// the driver does not tell. Collective. `run` and `recorder` outlive it.
std::unique_ptr<train::Listener> make_gpu_use(Run& run, result::RunRecorder& recorder);
// What runs on the device in train.profile_steps steps; null where none are asked for. Throws NotSupported where nobody
// says. `run` and `recorder` outlive it.
std::unique_ptr<train::Listener> make_device_profile(Run& run, result::RunRecorder& recorder);
// What holds for the whole process: threads of tensor operations, how float32 is multiplied, cuDNN's choice. Of a
// resolved recipe.
void set_process(const train::Recipe& recipe);
// Collective over `team`, which must outlive the run. The loader begins after `steps_done`. `open`: by default
// train::open_accelerator. Throws UsageError where the recipe contradicts the launch or the data.
using OpenAccelerator = std::function<train::Accelerator(
    const std::string& device, const comm::Team& team, std::shared_ptr<ThreadPool> pool)>;
Run assemble(const train::Recipe& recipe, const Components& components, const comm::Team& team,
    const harness::RunContext& context, std::int64_t steps_done = 0,
    const OpenAccelerator& open = train::open_accelerator);
// What names the run's data set, for its result.
result::Json describe_data(const Run& run);
// Collective, before the parts go to a trainer: what the recipe's train.checkpoint asks for, with `earlier` of rank 0
// restored; null for nothing. What goes wrong with a checkpoint later on is said on the terminal. Run and context
// outlive it.
std::unique_ptr<train::Checkpoints> make_checkpoints(
    Run& run, train::Earlier earlier, const harness::RunContext& context);
// On rank 0 writes train.telemetry.folder while the run goes, and norms into the recorder, where there is one; null
// without a folder. Of the parts as they are: made after they have been exchanged. The run outlives it.
std::unique_ptr<train::Listener> make_telemetry(Run& run, const std::string& run_id, result::RunRecorder* recorder);
result::Json describe(const Run& run);
// Collective, after the run's clock was started and the steps were taken: what all ranks recorded goes into the result
// of rank 0. Nothing without train.trace_steps. A result has one trace: the last that was stored.
void store_trace(Run& run, harness::RunContext& context);
// Of LibTorch, MPI and HDF5, for the result's provenance.
std::map<std::string, result::LibraryVersion> library_versions(const comm::World& world);

}  // namespace ttt
