#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

Variant asked(const char* name, const comm::NcclTuning& tuning) {
  return {.name = name, .change = [tuning](train::Recipe& r) { r.train.nccl = tuning; }};
}

std::string several_gpus(const Capabilities& here) {
  const std::string gpus = needs_cuda(here);
  return gpus.empty() ? needs_ranks(here) : gpus;
}

}  // namespace

// A run in which NCCL does not do as it is asked ends, so a row says what was measured.
Ablation ablate_nccl() {
  return {.name = "nccl",
      .question =
          "Does NCCL choose well: its algorithm, its protocol, how many channels it takes from the step's own kernels?",
      .claim = "Four NCCL rings instead of one.",
      .source = "ImageNet in 18 minutes, slides",
      .expectation =
          "Within a node its own choice is within noise of the best. Fewer channels leave more of the GPU to backward "
          "and take longer to send, which pays "
          "where communication is hidden anyway.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // sums over ranks in another order
      .variants = {asked("auto", {}), asked("ring", {.algorithm = "ring"}), asked("tree", {.algorithm = "tree"}),
          asked("simple", {.protocol = "simple"}), asked("ll128", {.protocol = "ll128"}),
          asked("4 channels", {.channels = 4}), asked("16 channels", {.channels = 16})},
      .unsupported = several_gpus};
}

}  // namespace ttt::ablations
