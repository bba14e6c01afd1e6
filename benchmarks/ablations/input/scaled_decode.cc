#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_scaled_decode() {
  const auto decode = [](const char* name, bool on) {
    return Variant{.name = name, .change = [on](train::Recipe& r) {
                     r.data.workers = 0, r.data.scaled_decode = on, r.data.short_side = r.data.long_side = 64;
                   }};
  };
  return {.name = "scaled_decode",
      .question = "What is it worth to let libjpeg-turbo decode to a fraction where images are shrunk to half or less?",
      .claim = "none known",
      .expectation =
          "Fewer inverse transforms and a smaller resize; pixels differ slightly. Measured with inline loading and "
          "images shrunk to 64.",
      .promise = Promise::kOtherWork,
      .variants = {decode("full", false), decode("scaled", true)}};
}

}  // namespace ttt::ablations
