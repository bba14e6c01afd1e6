#include "ablations/runner/ablation.h"

namespace ttt::ablations {

Ablation ablate_cudnn_autotune() {
  return {.name = "cudnn_autotune",
          .question = "What does it bring to let cuDNN time its algorithms, and what does the first step pay?",
          .expectation = "Faster convolutions after a first step of seconds; every new shape pays again.",
          .promise = Promise::kClose,
          .variants = {{.name = "off"}, {.name = "on"}},
          .unsupported = [](const Place& place) { return needs_cuda(place, "cuDNN's autotuning"); }};
}

}  // namespace ttt::ablations
