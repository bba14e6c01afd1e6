#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_device_transform() {
  const auto transform = [](const char* name, const char* where) {
    return Variant{.name = name, .change = [where](train::Recipe& r) { r.data.transform = where; }};
  };
  return {.name = "device_transform",
      .question = "What is it worth to resize, flip and normalise on the device?",
      .claim = "none known",
      .expectation =
          "Workers only decode, and where images are not shrunk a quarter of the bytes or less is copied; it shows "
          "where workers are what a step waits for.",
      .promise = Promise::kBitwise,
      .variants = {transform("by the workers", "host"), transform("by a kernel", "device")},
      .unsupported = needs_cuda};
}

}  // namespace ttt::ablations
