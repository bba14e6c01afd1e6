#include <unistd.h>

#include <filesystem>

#include "ablations/runner/ablation.h"

namespace ttt::ablations {
namespace {

// The event files of a measurement, of which nobody wants to keep any. Each process has its own.
struct Scratch {
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("ttt-telemetry-" + std::to_string(::getpid()) + "-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }
};

Variant sampled(const char* name, std::int64_t every) {
  const auto scratch = std::make_shared<Scratch>();
  return {.name = name, .change = [scratch, every](train::Recipe& r) {
            r.train.telemetry.folder = scratch->folder.string();
            if (every > 0) r.train.telemetry.every_steps = r.train.telemetry.histograms_every = every;
          }};
}

}  // namespace

// A block has as many steps as lie between two samples, so that each has one: a sample now and then would be an outlier, which the estimate
// of the effect is made to ignore. Histograms, ten times as rare, are in every tenth block, and so in the second variant alone with their whole cost.
// Pictures belong to evaluations, of which there are none here.
Ablation ablate_telemetry() {
  return {.name = "telemetry",
          .question = "What does it cost to follow losses and norms of gradients, weights and updates?",
          .expectation = "Two passes over gradients and weights and a copy of the weights in each sampled step, on rank 0, for which the others wait: some "
                         "milliseconds, below 1 % at the default interval. Event files are written by a thread.",
          .promise = Promise::kBitwise,
          .variants = {{.name = "off"}, sampled("every 10 steps", 0), sampled("every step, with histograms", 1)},
          .block_steps = 10};
}

}  // namespace ttt::ablations
