#include "ablations/runner/ablation.h"

namespace ttt::ablations {

Ablation ablate_cuda_graphs() {
  return {.name = "cuda_graphs",
          .question = "What is it worth to replay the step as CUDA Graphs?",
          .expectation = "Launches vanish from the host's critical path: most at one image a GPU.",
          .promise = Promise::kBitwise,
          .variants = {{.name = "none"}, {.name = "parts"}, {.name = "full"}},
          .unsupported = [](const Place& place) { return needs_cuda(place, "CUDA Graphs"); }};
}

}  // namespace ttt::ablations
