#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

Variant copies(const char* name, bool pinned, bool own_stream) {
  return {
      .name = name, .change = [=](train::Recipe& r) { r.train.pin_memory = pinned, r.train.copy_stream = own_stream; }};
}

}  // namespace

Ablation ablate_pinned_memory() {
  return {.name = "pinned_memory",
      .question = "What is it worth to decode into pinned memory and to copy on a stream of its own?",
      .claim = "Pinned memory is almost always better; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "The copy overlaps with the step before; from pageable memory it passes through a staging buffer and the "
          "host waits.",
      .promise = Promise::kBitwise,
      .variants = {copies("pageable", false, false), copies("pinned", true, false),
          copies("pinned with copy stream", true, true)},
      .unsupported = needs_cuda};
}

}  // namespace ttt::ablations
