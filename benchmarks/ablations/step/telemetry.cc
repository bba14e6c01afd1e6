#include <memory>
#include <optional>

#include "core/temp_folder.h"
#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

// `every` steps, histograms every `histograms`, 0: none; -1: as the recipe has it. `norms`: how they are taken.
Variant sampled(
    const char* name, std::int64_t every, std::int64_t histograms, int block_steps, const char* norms = "fused") {
  // of each process: nobody wants to keep the event files of a measurement
  const auto scratch = std::make_shared<std::optional<TempFolder>>();
  return {.name = name,
      .change =
          [scratch, every, histograms, norms](train::Recipe& r) {
            if (!*scratch) scratch->emplace();
            r.train.telemetry.folder = (*scratch)->path().string();
            r.train.telemetry.norms = norms;
            if (every > 0) r.train.telemetry.every_steps = every;
            if (histograms >= 0) r.train.telemetry.histograms_every = histograms;
          },
      .block_steps = block_steps};
}

}  // namespace

// Where every tenth step is sampled, a block has ten, so that each has a sample. One now and then would be an outlier,
// which the estimate of the effect is made to ignore. Histograms, ten times as rare, are in every tenth block, and so
// in one variant alone with their whole cost. At longer intervals the cost falls as 1 / interval, below what a
// comparison resolves: `report telemetry` has it of each run, by a clock around the samples. Pictures belong to
// evaluations, of which there are none here.
Ablation ablate_telemetry() {
  return {.name = "telemetry",
      .question = "What does it cost to follow losses and norms of gradients, weights and updates?",
      .claim = "none known",
      .expectation =
          "Two passes over gradients and weights and a copy of the weights in each sampled step, on rank 0, for "
          "which the others wait: some milliseconds, below 1 % at the default interval. Event files are written by a "
          "thread. Foreach operators pass over memory more often. By tensor, the host waits for a device at each "
          "transfer.",
      .promise = Promise::kBitwise,
      // What a tenth of the steps costs is small beside what steps differ by; every step costs ten times as much,
      // and its tenth is known the better for it.
      .variants = {{.name = "off"}, sampled("every 10 steps", -1, -1, 10),
          sampled("every step, no histograms", 1, 0, 0), sampled("every step, with histograms", 1, 1, 0),
          sampled("every step, by foreach", 1, 0, 0, "foreach"),
          sampled("every step, by tensor", 1, 0, 0, "per_tensor")}};
}

}  // namespace ttt::ablations
