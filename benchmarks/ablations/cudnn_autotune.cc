#include "ablations/runner/ablation.h"

namespace ttt::ablations {
namespace {

Variant autotune(const char* name, bool on) {
  return {.name = name, .change = [on](train::Recipe& r) { r.train.cudnn_autotune = on; }};
}

}  // namespace

Ablation ablate_cudnn_autotune() {
  return {.name = "cudnn_autotune",
          .question = "What does it bring to let cuDNN time its algorithms, and what does the first step pay?",
          .expectation = "Faster convolutions after a first step of seconds; every new shape pays again.",
          .promise = Promise::kClose,
          .rtol = 1e-3,  // another algorithm of a convolution adds in another order
          .variants = {autotune("off", false), autotune("on", true)},
          .unsupported = [](const Place& place) { return needs_cuda(place, "cuDNN's autotuning"); }};
}

}  // namespace ttt::ablations
