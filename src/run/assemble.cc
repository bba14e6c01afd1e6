#include "run/assemble.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/allocator.h"
#include "core/error.h"
#include "cuda/nvml.h"
#include "data/hdf5.h"
#include "data/shapes.h"
#include "result/system_info.h"
#include "settings/fields_json.h"
#include "telemetry/device_profile.h"
#include "health/gpu_use.h"
#include "telemetry/telemetry.h"
#include "models/weights.h"

namespace ttt {
namespace {

void check_save_weights(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw UsageError("train.save_weights = '" + path + "': there is no folder '" + folder.string() + "'. Make it or name another.");
}

void check_norm(const train::Recipe& recipe) {
  if (recipe.device != "cpu" && recipe.model.backbone.norm == "sync" && recipe.data.padding == "batch")
    throw UsageError("model.backbone.norm = \"sync\", data.padding = \"batch\" and device = \"" + recipe.device +
                     "\": the ranks' batches would differ in size, and the host does not wait for the device to add them up. Choose data.padding = \"fixed\" or \"two\".");
}

void check_precision(const train::Recipe& recipe) {
  const std::string& p = recipe.model.precision;
  if (recipe.device == "cpu" && (p == "tf32" || p == "fp16"))  // in fp16 a step takes minutes: torch multiplies one by one there
    throw NotSupported("model.precision = \"" + p + "\" is for GPUs, and device = \"cpu\". Choose fp32 or bf16, or device = \"cuda\".");
}

void check_trace(const train::TrainSettings& t) {
  if (t.trace_steps > 0 && t.max_steps > 0 && t.trace_from >= t.max_steps)
    throw UsageError("train.trace_from = " + std::to_string(t.trace_from) + " is after the last step of train.max_steps = " + std::to_string(t.max_steps) +
                     ": nothing would be recorded. Lower the one or raise the other.");
}

void resolve_classes(train::Recipe& recipe, const data::ShardSet& images) {
  const auto in_data = static_cast<std::int64_t>(images.categories().size()) + 1;
  if (recipe.model.classes == 0) recipe.model.classes = in_data;
  if (recipe.model.classes < in_data)
    throw UsageError("model.classes = " + std::to_string(recipe.model.classes) + ", but the data set has " + std::to_string(in_data - 1) +
                     " categories: set it to " + std::to_string(in_data) + " or to 0.");
}

// --data DIR where it is given, else the default data set in the cache folder: the first process on a node makes it, the others
// wait for it.
std::string data_folder(const train::Recipe& recipe, const harness::RunContext& context) {
  if (context.options.data) return *context.options.data;
  return data::default_dataset(data::cache_folder(), {.aspects = recipe.data.generated, .threads = static_cast<int>(std::thread::hardware_concurrency())});
}

}  // namespace

int threads_of_rank(std::int64_t wanted, const comm::Team& team) {
  if (wanted > 0) return static_cast<int>(wanted);
  const int online = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())), usable = usable_cores();
  return std::max(1, std::min(online / team.local_size, usable > 0 ? usable : online));
}

void resolve_batch(train::TrainConfig& t, const comm::Team& team) {
  if (t.global_batch == 0) t.global_batch = t.images_per_rank * team.size;
  if (t.global_batch % team.size != 0)
    throw UsageError("train.global_batch = " + std::to_string(t.global_batch) + " cannot be shared equally by " + std::to_string(team.size) +
                     " ranks: choose a multiple of the number of ranks, or 0 for train.images_per_rank on each.");
  t.images_per_rank = t.global_batch / team.size;
}

// With several threads, MKL's matrix products depend on where in memory their arrays lie, and so differ from run to run, unless it is told
// before its first call to be reproducible: measured here as different losses after some fifty steps, at no cost in time. Other makers'
// processors would pay with MKL's slowest code, so there it is left to the user.
void make_mkl_reproducible() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx2")) ::setenv("MKL_CBWR", "AUTO,STRICT", /*overwrite=*/0);
#endif
}

void set_process(const train::Recipe& recipe) {
  at::set_num_threads(static_cast<int>(recipe.train.threads));
  const bool tf32 = recipe.model.precision == "tf32";
  at::globalContext().setAllowTF32CuDNN(tf32);  // torch's default is yes
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setBenchmarkCuDNN(recipe.train.cudnn_autotune);
  at::globalContext().setDeterministicCuDNN(recipe.train.cudnn_deterministic);
}

Run build_run(const train::Recipe& wanted, const comm::Team& team, const harness::RunContext& context, std::int64_t steps_done,
              const OpenAccelerator& open) {
  Run run;
  run.recipe = wanted;
  train::Recipe& recipe = run.recipe;
  resolve_batch(recipe.train, team);
  check_save_weights(recipe.train.save_weights);
  check_trace(recipe.train);
  check_norm(recipe);
  check_precision(recipe);
  train::check(recipe.train.telemetry);
  const int threads = threads_of_rank(recipe.train.threads, team);
  recipe.train.threads = threads;
  make_mkl_reproducible();
  if (recipe.train.keep_memory) run.memory = keep_freed_memory() ? "kept" : "as the user set malloc";
  set_process(recipe);
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);  // may be set once in a process
  run.pool = std::make_shared<ThreadPool>(threads);
  run.accelerator = open(recipe.device, team, run.pool);  // before torch is first asked about CUDA
  run.parts.device = run.accelerator.device;
  run.parts.seed = recipe.seed;
  run.parts.memory = run.accelerator.memory;
  run.parts.graphs = run.accelerator.graphs;
  run.parts.announce_phase = run.accelerator.announce_phase;
  if (recipe.train.strict_sync) {
    if (!run.accelerator.forbid_waits)
      throw NotSupported("train.strict_sync: this run's device is the host itself (" + run.accelerator.name + "), which waits for nothing. Leave it away, or choose device = \"cuda\".");
    run.parts.forbid_waits = run.accelerator.forbid_waits;
  }
  run.control = team.communicator();
  run.gradients = team.communicator();
  if (run.accelerator.communicator && team.size > 1) {
    run.host_of_gradients = std::move(run.gradients);
    run.gradients = run.accelerator.communicator(*run.host_of_gradients, recipe.train.nccl);
  } else if (recipe.train.nccl.asks()) {
    throw NotSupported("train.nccl: this run does not use NCCL (device = \"" + recipe.device + "\", " + std::to_string(team.size) +
                       " ranks). Leave its keys out, or choose device = \"cuda\" and several ranks.");
  }

  const auto path = recipe.data.read == "hdf5" ? data::ShardFile::Path::kHdf5 : data::ShardFile::Path::kPread;
  const std::string folder = data_folder(recipe, context);
  run.train_images = std::make_unique<data::ShardSet>(folder, "train", path);
  run.eval_images = std::make_unique<data::ShardSet>(folder, "val", path);
  resolve_classes(recipe, *run.train_images);
  run.order = std::make_shared<data::TrainOrder>(*run.train_images, recipe.data,
                                                 data::OrderSettings{.seed = static_cast<std::uint64_t>(recipe.seed),
                                                                     .global_batch = recipe.train.global_batch,
                                                                     .rank = team.rank, .ranks = team.size});
  if (recipe.train.trace_steps > 0) run.trace = std::make_unique<trace::Recorder>(recipe.train.trace_from, recipe.train.trace_steps);
  run.parts.trace = run.trace.get();
  run.place = std::make_unique<comm::Place>();
  run.parts.place = run.place.get();
  run.parts.loader = std::make_unique<data::Loader>(
      *run.train_images, recipe.data, run.order,
      data::LoaderStart{.first_batch = steps_done, .trace = run.parts.trace, .memory = recipe.train.pin_memory ? run.parts.memory : std::pmr::new_delete_resource(), .hold = recipe.mlperf.division != "none"});
  set_model(run, run.accelerator.ops);
  run.parts.schedule = train::make_schedule(recipe.train.schedule, {.global_batch = recipe.train.global_batch, .steps_per_epoch = run.order->steps_per_epoch(),
                                                                    .total_steps = recipe.train.epochs * run.order->steps_per_epoch()});
  run.traces = std::make_unique<train::TraceCollection>(run.trace.get(), *run.control);
  return run;
}

std::unique_ptr<train::Reducer> make_reducer(Run& run) {
  model::ParameterStore& store = run.parts.model->parameters();
  std::vector<std::int64_t> offsets;
  for (const model::Parameter* p : store.trainable()) offsets.push_back(p->offset);
  at::Tensor& flat = store.flat_gradients();
  const std::span<float> gradients(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  return train::make_reducer(run.recipe.train.reducer, {.gradients = gradients, .offsets = offsets, .comm = *run.gradients, .trace = run.parts.trace});
}

void set_model(Run& run, model::DetectionOps ops) {
  const train::Recipe& recipe = run.recipe;
  train::Parts& parts = run.parts;
  parts.hooks.reset();  // of the old model's parameters
  // What ranks add up within the step lies where the gradients do.
  comm::Communicator* const sync = run.host_of_gradients ? run.gradients.get() : run.control.get();
  parts.model = std::make_unique<model::MaskRcnn>(recipe.model, std::move(ops), static_cast<std::uint64_t>(recipe.seed), parts.device, sync);
  if (!recipe.train.weights.empty()) model::load_weights(recipe.train.weights, parts.model->parameters());
  if (!recipe.train.weights_backbone.empty()) model::load_weights(recipe.train.weights_backbone, parts.model->parameters(), model::kBackbonePart);
  parts.placer = std::make_unique<model::ImagePlacer>(recipe.data, parts.model->ops(), parts.device);
  parts.scaler = recipe.model.precision == "fp16" ? std::make_unique<train::LossScaler>(recipe.train.loss_scale, parts.device) : nullptr;
  parts.step = std::make_unique<train::EagerStep>(*parts.model, train::ClearGradients{}, parts.scaler.get());
  parts.set_reducer(make_reducer(run));
  parts.optimizer = train::make_optimizer(recipe.train.optimizer, {.store = parts.model->parameters(), .kernels = run.accelerator.parameters, .scaler = parts.scaler.get()});
  parts.evaluator = std::make_unique<eval::Evaluator>(
      *run.eval_images,
      eval::EvaluatorConfig{.data = recipe.data, .batch = recipe.train.eval_batch, .legacy_boxes = recipe.model.legacy_boxes,
                            .batches_done = &run.place->count}, *run.control,
      run.pool->threads(), parts.device);
}

result::Json describe_data(const Run& run) {
  return {{"train_images", run.train_images->size()}, {"eval_images", run.eval_images->size()},
          {"train_sha256", run.train_images->source_sha256()}, {"eval_sha256", run.eval_images->source_sha256()}};
}

std::unique_ptr<train::Checkpoints> make_checkpoints(Run& run, train::Earlier earlier, const harness::RunContext& context) {
  const train::CheckpointConfig& config = run.recipe.train.checkpoint;
  if (config.folder.empty() && config.from.empty()) return nullptr;
  train::CheckpointParts parts{.config = config, .recipe = result::fields_json(run.recipe), .data = describe_data(run), .run_id = context.run_id, .steps_per_epoch = run.order->steps_per_epoch(),
                               .buffers_per_rank = run.parts.model->buffers_per_rank(),
                               .parameters = run.parts.model->parameters(), .optimizer = *run.parts.optimizer, .control = *run.control,
                               .recorder = context.recorder, .clock = context.clock,
                               .warn = [](const std::string& sentence) { std::fprintf(stderr, "warning: %s\n", sentence.c_str()); }};
  return std::make_unique<train::Checkpoints>(std::move(parts), std::move(earlier));
}

std::unique_ptr<train::Listener> make_telemetry(Run& run, const std::string& run_id, result::RunRecorder* recorder) {
  const train::Recipe& recipe = run.recipe;
  if (recipe.train.telemetry.folder.empty()) return nullptr;
  if (run.control->rank() != 0) return std::make_unique<train::SampledSteps>(recipe.train.telemetry);
  train::TelemetrySources sources{.model = *run.parts.model, .eval_images = *run.eval_images, .data = recipe.data,
                                  .detector = run.parts.evaluator->detector(), .kernels = run.accelerator.parameters, .ranks = run.control->size(), .scaler = run.parts.scaler.get(), .run_id = run_id, .recorder = recorder};
  return std::make_unique<train::Telemetry>(recipe.train.telemetry, std::move(sources));
}

std::unique_ptr<train::Listener> make_gpu_use(Run& run, result::RunRecorder& recorder) {
  const double every_s = run.recipe.train.gpu_every_s;
  if (run.accelerator.bus_id.empty() || every_s == 0) return nullptr;
  std::unique_ptr<cuda::GpuMeter> meter;
  std::string missing;
  try {
    meter = std::make_unique<cuda::GpuMeter>(run.accelerator.bus_id);
  } catch (const NotSupported& e) {
    missing = e.what();
  }
  double lacking = missing.empty() ? 0 : 1;  // all ranks or none: their numbers are gathered
  run.control->all_reduce_max(&lacking, 1);
  if (lacking > 0) {
    recorder.warn("Power and clocks of the GPUs are not known: " + (missing.empty() ? "another rank's driver does not tell." : missing));
    return nullptr;
  }
  return std::make_unique<train::GpuUse>(std::move(meter), every_s, train::GpuUse::Names{run.accelerator.name, result::node_json().at("host").get<std::string>()}, *run.control, recorder);
}

std::unique_ptr<train::Listener> make_device_profile(Run& run, result::RunRecorder& recorder) {
  const train::TrainSettings& t = run.recipe.train;
  if (t.profile_steps == 0) return nullptr;
  if (!run.accelerator.activity)
    throw NotSupported("train.profile_steps: nobody says what runs on this run's device (" + run.accelerator.name + "). Leave it away, or choose device = \"cuda\".");
  return std::make_unique<train::DeviceProfile>(*run.accelerator.activity, t.trace_from, t.profile_steps, *run.control, recorder);
}

void store_trace(Run& run, harness::RunContext& context) {
  if (auto trace = run.traces->collect(context.clock.run_start_s()))
    context.recorder.update([&](result::RunRecord& r) { r.trace = std::move(trace); });
}

// On a CPU nothing of it has a choice.
result::Json describe_device(const Run& run) {
  if (run.parts.device.is_cpu()) return run.accelerator.name;
  const train::TrainSettings& t = run.recipe.train;
  return {{"name", run.accelerator.name}, {"cudnn_autotune", at::globalContext().benchmarkCuDNN()}, {"cudnn_deterministic", at::globalContext().deterministicCuDNN()},
          {"batches", t.pin_memory ? "pinned" : "pageable"}, {"copies", t.copy_stream ? "by a stream of their own" : "by the step's stream"}};
}

result::Json describe(const Run& run) {
  const train::Parts& p = run.parts;
  const train::TelemetryConfig& t = run.recipe.train.telemetry;
  return {{"step", p.step->describe()},
          {"reducer", p.reducer->describe()},
          {"optimizer", p.optimizer->describe()},
          {"schedule", p.schedule->describe()},
          {"graphs", run.recipe.train.graphs},
          {"communicator", run.gradients->name()},
          {"ranks", run.gradients->size()},
          {"freed_memory", run.memory},
          {"threads_per_rank", run.recipe.train.threads},
          {"global_batch", run.recipe.train.global_batch},
          {"classes", run.recipe.model.classes},
          {"device", describe_device(run)},
          {"telemetry", t.folder.empty() ? result::Json("none")
                                         : result::Json{{"every_steps", t.every_steps}, {"histograms_every", t.histograms_every}, {"pictures", t.pictures}}},
          {"loader", {{"workers", run.recipe.data.workers}, {"prefetch", run.recipe.data.prefetch}, {"gt_capacity", p.loader->capacity()}, {"deals", run.deals},
                      {"grouped", run.recipe.data.group_by_aspect}, {"padding", run.recipe.data.padding},
                      {"read", run.train_images->shards()[0]->read_path() == data::ShardFile::Path::kPread ? "pread" : "hdf5"}, {"scaled_decode", run.recipe.data.scaled_decode}}}};
}

std::map<std::string, result::LibraryVersion> library_versions(const comm::World& world) {
  return {{"libtorch", {.built = TORCH_VERSION}},
          {"mpi", {.runtime = world.library()}},
          {"mpi_thread_level", {.runtime = world.thread_level()}},
          {"hdf5", {.runtime = data::h5::library_version()}},
          {"cpu_capability", {.runtime = at::get_cpu_capability()}}};
}

}  // namespace ttt
