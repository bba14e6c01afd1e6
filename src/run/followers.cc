// The side features of a run that its recipe asks for.
#include <cstdio>

#include "core/error.h"
#include "cuda/nvml.h"
#include "health/gpu_use.h"
#include "result/system_info.h"
#include "run/assemble.h"
#include "settings/fields_json.h"
#include "telemetry/device_profile.h"
#include "telemetry/telemetry.h"

namespace ttt {

std::unique_ptr<train::Checkpoints> make_checkpoints(
    Run& run, train::Earlier earlier, const harness::RunContext& context) {
  const train::CheckpointConfig& config = run.recipe.train.checkpoint;
  if (config.folder.empty() && config.from.empty()) return nullptr;
  train::CheckpointParts parts{.config = config,
      .recipe = result::fields_json(run.recipe),
      .data = describe_data(run),
      .run_id = context.run_id,
      .epochs = run.order->epochs(),
      .buffers_per_rank = run.parts.model->buffers_per_rank(),
      .parameters = run.parts.model->parameters(),
      .optimizer = *run.parts.optimizer,
      .control = *run.control,
      .recorder = context.recorder,
      .clock = context.clock,
      .warn = [](const std::string& sentence) { std::fprintf(stderr, "warning: %s\n", sentence.c_str()); }};
  return std::make_unique<train::Checkpoints>(std::move(parts), std::move(earlier));
}

std::unique_ptr<train::Listener> make_telemetry(Run& run, const std::string& run_id, result::RunRecorder* recorder) {
  const train::Recipe& recipe = run.recipe;
  if (recipe.train.telemetry.folder.empty()) return nullptr;
  if (run.control->rank() != 0) return std::make_unique<train::SampledSteps>(recipe.train.telemetry);
  train::TelemetrySources sources{.model = *run.parts.model,
      .gallery = recipe.workload->make_gallery(run.evaluation_inputs(), recipe.train.telemetry.pictures),
      .kernels = run.accelerator.parameters,
      .ranks = run.control->size(),
      .part_norm = run.part_norm,
      .global_batch = recipe.train.global_batch,
      .scaler = run.parts.scaler.get(),
      .run_id = run_id,
      .recorder = recorder};
  return std::make_unique<train::Telemetry>(recipe.train.telemetry, std::move(sources));
}

std::unique_ptr<train::Listener> make_gpu_use(Run& run, result::RunRecorder& recorder) {
  const double every_s = run.recipe.train.gpu_every_s;
  if (run.accelerator.bus_id.empty() || every_s == 0) return nullptr;
  std::unique_ptr<cuda::GpuMeter> meter;
  std::string missing;
  try {
    meter = std::make_unique<cuda::GpuMeter>(run.accelerator.bus_id);
  } catch (const NotSupported& e) { missing = e.what(); }
  double lacking = missing.empty() ? 0 : 1;  // all ranks or none: their numbers are gathered
  run.control->all_reduce_max(&lacking, 1);
  if (lacking > 0) {
    recorder.warn("Power and clocks of the GPUs are not known: " +
                  (missing.empty() ? "another rank's driver does not tell." : missing));
    return nullptr;
  }
  return std::make_unique<train::GpuUse>(std::move(meter), every_s,
      train::GpuUse::Names{run.accelerator.name, result::this_node().host}, *run.control, recorder);
}

std::unique_ptr<train::Listener> make_device_profile(Run& run, result::RunRecorder& recorder) {
  const train::TrainSettings& t = run.recipe.train;
  if (t.profile_steps == 0) return nullptr;
  if (!run.accelerator.activity)
    throw NotSupported("train.profile_steps: nobody says what runs on this run's device (" + run.accelerator.name +
                       "). Leave it away, or choose device = \"cuda\".");
  return std::make_unique<train::DeviceProfile>(
      *run.accelerator.activity, t.trace_from, t.profile_steps, *run.control, recorder);
}

void store_trace(Run& run, harness::RunContext& context) {
  if (auto trace = run.traces->collect(context.clock.run_start_s()))
    context.recorder.update([&](result::RunRecord& r) { r.trace = std::move(trace); });
}

}  // namespace ttt
