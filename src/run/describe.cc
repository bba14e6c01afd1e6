#include <ATen/Context.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "data/hdf5.h"
#include "run/assemble.h"

namespace ttt {

result::Json describe_data(const Run& run) {
  return {{"train_images", run.train_images->size()}, {"eval_images", run.eval_images->size()},
      {"train_sha256", run.train_images->source_sha256()}, {"eval_sha256", run.eval_images->source_sha256()}};
}

// On a CPU nothing of it has a choice.
result::Json describe_device(const Run& run) {
  if (run.parts.device.is_cpu()) return run.accelerator.name;
  const train::TrainSettings& t = run.recipe.train;
  return {{"name", run.accelerator.name}, {"cudnn_autotune", at::globalContext().benchmarkCuDNN()},
      {"cudnn_deterministic", at::globalContext().deterministicCuDNN()},
      {"batches", t.pin_memory ? "pinned" : "pageable"},
      {"copies", t.copy_stream ? "by a stream of their own" : "by the step's stream"}};
}

// [{"first_step", "short_side", "images_per_rank"}, ...], empty where all batches are alike.
result::Json describe_phases(const Run& run) {
  result::Json phases = result::Json::array();
  for (const data::OrderPhase& phase : run.order_settings().phases)
    phases.push_back({{"first_step", run.order->epochs().steps(phase.first_epoch)},
        {"short_side", phase.short_side > 0 ? phase.short_side : run.recipe.data.short_side},
        {"images_per_rank",
            phase.global_batch > 0 ? phase.global_batch / run.gradients->size() : run.recipe.train.images_per_rank}});
  return phases;
}

result::Json describe(const Run& run) {
  const train::Parts& p = run.parts;
  const train::TelemetryConfig& t = run.recipe.train.telemetry;
  return {{"step", p.step->describe()}, {"reducer", p.reducer->describe()}, {"optimizer", p.optimizer->describe()},
      {"schedule", p.schedule->describe()}, {"graphs", run.recipe.train.graphs},
      {"communicator", run.gradients->name()}, {"ranks", run.gradients->size()}, {"freed_memory", run.memory},
      {"threads_per_rank", run.recipe.train.threads}, {"global_batch", run.recipe.train.global_batch},
      {"device", describe_device(run)},
      {"telemetry", t.folder.empty() ? result::Json("none")
                                     : result::Json{{"every_steps", t.every_steps},
                                           {"histograms_every", t.histograms_every}, {"pictures", t.pictures}}},
      {"loader",
          {{"workers", run.recipe.data.workers}, {"prefetch", run.recipe.data.prefetch},
              {"gt_capacity", p.loader->capacity()}, {"deals", run.deals}, {"grouped", run.recipe.data.group_by_aspect},
              {"padding", run.recipe.data.padding}, {"phases", describe_phases(run)},
              {"read", run.train_images->shards()[0]->read_path() == data::ShardFile::Path::kPread ? "pread" : "hdf5"},
              {"scaled_decode", run.recipe.data.scaled_decode}}}};
}

std::map<std::string, result::LibraryVersion> library_versions(const comm::World& world) {
  return {{"libtorch", {.built = TORCH_VERSION}}, {"mpi", {.runtime = world.library()}},
      {"mpi_thread_level", {.runtime = world.thread_level()}}, {"hdf5", {.runtime = data::h5::library_version()}},
      {"cpu_capability", {.runtime = at::get_cpu_capability()}}};
}

}  // namespace ttt
