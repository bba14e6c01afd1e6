#include "run/assemble.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/allocator.h"
#include "core/error.h"
#include "data/shapes.h"
#include "models/weights.h"
#include "run/pretraining.h"
#include "telemetry/telemetry.h"

namespace ttt {
namespace {

void check_save_weights(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw UsageError(
        "train.save_weights = '" + path + "': there is no folder '" + folder.string() + "'. Make it or name another.");
}

// --data DIR where it is given, else the default data set in the cache folder: the first process on a node makes it,
// the others wait for it.
std::string data_folder(const train::Recipe& recipe, const harness::RunContext& context) {
  if (context.options.data) return *context.options.data;
  if (recipe.data.generated == "no")
    throw DataError("Recipe " + context.options.recipe +
                    " is for COCO: name packed shards with --data DIR, or say --set data.generated=mixed to train on "
                    "generated shapes.");
  return data::default_dataset(
      data::cache_folder(), {.train = recipe.data.generated_images,
                                .val = recipe.data.generated_held_out,
                                .aspects = recipe.data.generated,
                                .seed = static_cast<std::uint64_t>(recipe.data.generated_seed),
                                .threads = static_cast<int>(std::thread::hardware_concurrency())});
}

// "1,600 generated images", "COCO train2017, 117,266 images", "60 images of mine.json"
std::string data_name(const data::ShardSet& images, bool generated) {
  constexpr std::size_t kCocoCategories = 80;
  const std::string count = result::grouped_digits(images.size());
  if (generated) return count + " generated images";
  const std::string source = std::filesystem::path(images.source_file()).stem().string(), coco = "instances_";
  if (images.categories().size() == kCocoCategories && source.starts_with(coco))
    return "COCO " + source.substr(coco.size()) + ", " + count + " images";
  return count + " images of " + images.source_file();
}

}  // namespace

int threads_of_rank(std::int64_t wanted, const comm::Team& team) {
  if (wanted > 0) return static_cast<int>(wanted);
  const int online = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())), usable = usable_cores();
  return std::max(1, std::min(online / team.local_size, usable > 0 ? usable : online));
}

void resolve_batch(train::TrainConfig& t, const comm::Team& team) {
  if (!t.phases.images_per_rank.empty()) t.global_batch = t.phases.images_per_rank.front() * team.size;
  if (t.global_batch == 0) t.global_batch = t.images_per_rank * team.size;
  if (t.global_batch % team.size != 0)
    throw UsageError("train.global_batch = " + std::to_string(t.global_batch) + " cannot be shared equally by " +
                     std::to_string(team.size) +
                     " ranks: choose a multiple of the number of ranks, or 0 for train.images_per_rank on each.");
  t.images_per_rank = t.global_batch / team.size;
  std::vector<std::int64_t> batches = t.phases.images_per_rank;
  batches.push_back(t.images_per_rank);
  for (const std::int64_t images : batches)
    if (images % t.accumulate != 0)
      throw UsageError("train.accumulate = " + std::to_string(t.accumulate) + " does not divide the " +
                       std::to_string(images) + " images of a rank. Choose a divisor, or another batch.");
}

// With several threads, MKL's matrix products depend on the alignment of their arrays and differ between runs.
// MKL_CBWR, set before MKL's first call, prevents that at no measured cost in time. Without it, losses differed after
// some fifty steps. On other makers' processors it selects MKL's slowest code, so there it is left to the user.
void make_mkl_reproducible() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx2")) ::setenv("MKL_CBWR", "AUTO,STRICT", /*overwrite=*/0);
#endif
}

void set_process(const train::Recipe& recipe) {
  at::set_num_threads(static_cast<int>(recipe.train.threads));
  const bool tf32 = recipe.workload->precision(recipe.model) == "tf32";
  at::globalContext().setAllowTF32CuDNN(tf32);  // torch's default is yes
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setBenchmarkCuDNN(recipe.train.cudnn_autotune);
  at::globalContext().setDeterministicCuDNN(recipe.train.cudnn_deterministic);
}

namespace {

// Checks that need no device and no data, and the numbers that the recipe left to the launch.
void resolve(train::Recipe& recipe, const comm::Team& team) {
  resolve_batch(recipe.train, team);
  check_save_weights(recipe.train.save_weights);
  train::check(recipe);
  recipe.train.threads = threads_of_rank(recipe.train.threads, team);
}

// The process, the device, and what of the parts follows from them.
void open_device(Run& run, const comm::Team& team, const OpenAccelerator& open) {
  const train::Recipe& recipe = run.recipe;
  make_mkl_reproducible();
  if (recipe.train.keep_memory) run.memory = keep_freed_memory() ? "kept" : "as the user set malloc";
  set_process(recipe);
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);  // may be set once in a process
  run.pool = std::make_shared<ThreadPool>(static_cast<int>(recipe.train.threads));
  run.accelerator = open(recipe.device, team, run.pool);  // before torch is first asked about CUDA
  train::Parts& parts = run.parts;
  parts.device = run.accelerator.device;
  parts.seed = recipe.seed;
  parts.memory = run.accelerator.memory;
  parts.graphs = run.accelerator.graphs;
  parts.announce_phase = run.accelerator.announce_phase;
  if (!recipe.train.strict_sync) return;
  if (!run.accelerator.forbid_waits)
    throw NotSupported("train.strict_sync: this run's device is the host itself (" + run.accelerator.name +
                       "), which waits for nothing. Leave it away, or choose device = \"cuda\".");
  parts.forbid_waits = run.accelerator.forbid_waits;
}

void open_communicators(Run& run, const comm::Team& team) {
  const train::Recipe& recipe = run.recipe;
  run.control = team.communicator();
  run.gradients = team.communicator();
  if (run.accelerator.communicator && team.size > 1) {
    run.host_of_gradients = std::move(run.gradients);
    run.gradients = run.accelerator.communicator(*run.host_of_gradients, recipe.train.nccl);
  } else if (recipe.train.nccl.asks()) {
    throw NotSupported("train.nccl: this run does not use NCCL (device = \"" + recipe.device + "\", " +
                       std::to_string(team.size) +
                       " ranks). Leave its keys out, or choose device = \"cuda\" and several ranks.");
  }
}

void open_data(Run& run, const harness::RunContext& context) {
  train::Recipe& recipe = run.recipe;
  const auto path = recipe.data.read == "hdf5" ? data::ShardFile::Path::kHdf5 : data::ShardFile::Path::kPread;
  const std::string folder = data_folder(recipe, context);
  run.train_images = std::make_unique<data::ShardSet>(folder, "train", path);
  run.eval_images = std::make_unique<data::ShardSet>(folder, "val", path);
  recipe.workload->resolve(recipe.model, *run.train_images);
  run.data_name = data_name(*run.train_images, !context.options.data);
  run.order = std::make_shared<data::TrainOrder>(*run.train_images, recipe.data, run.order_settings());
  if (recipe.train.trace_steps > 0)
    run.trace = std::make_unique<trace::Recorder>(recipe.train.trace_from, recipe.train.trace_steps);
  run.parts.trace = run.trace.get();
  run.place = std::make_unique<comm::RankState>();
  run.parts.place = run.place.get();
}

// `backbone`: of rank 0, its file.
void add_model(Run& run, const Components& components, const std::string& backbone) {
  const train::Recipe& recipe = run.recipe;
  train::Parts& parts = run.parts;
  run.ops = components.ops.make(run);
  parts.preprocessor = std::make_unique<model::Preprocessor>(recipe.data, *run.ops, parts.device);
  parts.model = components.model.make(run);
  if (!recipe.train.weights.empty()) model::load_weights(recipe.train.weights, parts.model->parameters());
  if (is_pretrained(recipe)) load_backbone(backbone, parts.model->parameters(), *run.control);
  if (!recipe.train.weights_backbone.empty())
    model::load_weights(recipe.train.weights_backbone, parts.model->parameters(), model::kBackbonePart);
  parts.scaler = recipe.workload->precision(recipe.model) == "fp16"
                     ? std::make_unique<train::LossScaler>(recipe.train.loss_scale, parts.device)
                     : nullptr;
}

// Throws UsageError where no part's gradients are seen before others are added, or parts differ in size.
void add_part_norm(Run& run) {
  const train::TelemetryConfig& t = run.recipe.train.telemetry;
  if (!t.noise_scale || t.folder.empty()) return;
  if (!run.recipe.train.phases.images_per_rank.empty())
    throw UsageError(
        "train.telemetry.noise_scale compares parts of one size with a batch of one size, and "
        "train.phases.images_per_rank changes them. Leave one of them away.");
  const bool several = run.gradients->size() > 1;
  const train::ReducerTraits reducer = run.parts.reducer->traits();
  if (several ? reducer.idle || (run.parts.step->parts() == 1 && reducer.overlaps_backward)
              : run.parts.step->parts() == 1)
    throw UsageError(
        "train.telemetry.noise_scale compares the gradient of a part of the batch with that of the whole: here no part "
        "is seen by itself. Set train.accumulate=2 or more, or start several ranks with "
        "train.reducer.kind=flat_async.");
  auto step = std::make_unique<train::StepWithPartNorm>(
      std::move(run.parts.step), run.parts.model->parameters(), run.accelerator.parameters);
  run.part_norm = step.get();
  run.parts.step = std::move(step);
}

}  // namespace

data::LoaderStart Run::loader_start() const {
  return {.targets = {.bitmaps = recipe.workload->reads_bitmaps(recipe.model)},
      .trace = parts.trace,
      .memory = recipe.train.pin_memory ? parts.memory : std::pmr::new_delete_resource(),
      .hold = recipe.mlperf.division != "none"};
}

eval::EvaluationInputs Run::evaluation_inputs() const { return evaluation_inputs(*eval_images); }

eval::EvaluationInputs Run::evaluation_inputs(const data::ShardSet& images) const {
  return {.model = *parts.model,
      .images = images,
      .data = recipe.data,
      .batch = recipe.train.eval_batch,
      .comm = *control,
      .threads = pool->threads(),
      .device = parts.device,
      .memory = accelerator.memory};
}

data::OrderSettings Run::order_settings() const {
  return {.seed = static_cast<std::uint64_t>(recipe.seed),
      .global_batch = recipe.train.global_batch,
      .rank = gradients->rank(),
      .ranks = gradients->size(),
      .phases = train::order_phases(recipe.train.phases, gradients->size())};
}

Run assemble(const train::Recipe& wanted, const Components& components, const comm::Team& team,
    const harness::RunContext& context, std::int64_t steps_done, const OpenAccelerator& open) {
  Run run;
  run.recipe = wanted;
  const train::Recipe& recipe = run.recipe;
  resolve(run.recipe, team);
  // A training of its own, which sets the process too.
  const std::string backbone = is_pretrained(recipe) && team.rank == 0 ? pretrained_backbone(recipe, context) : "";
  open_device(run, team, open);
  open_communicators(run, team);
  open_data(run, context);
  train::Parts& parts = run.parts;
  run.batches = components.order.make(run);
  data::LoaderStart start = run.loader_start();
  start.first_batch = steps_done;
  parts.loader = std::make_unique<data::Loader>(*run.train_images, recipe.data, run.batches, start);
  add_model(run, components, backbone);
  parts.step = components.step.make(run);
  parts.set_reducer(components.reducer.make(run));
  add_part_norm(run);
  parts.optimizer = components.optimizer.make(run);
  parts.schedule = components.schedule.make(run);
  parts.evaluator = components.evaluator.make(run);
  parts.target = recipe.workload->target(recipe.train.targets);
  run.traces = std::make_unique<train::TraceCollection>(run.trace.get(), *run.control);
  return run;
}

}  // namespace ttt
