#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_bucket_bytes() {
  const auto size = [](std::int64_t bytes) {
    return Variant{.name = std::to_string(bytes >> 10) + "KiB", .change = [bytes](train::Recipe& r) {
                     r.train.reducer.kind = "bucketed";
                     r.train.reducer.bucket_bytes = bytes;
                   }};
  };
  return {.name = "bucket_bytes",
      .question = "How large should a bucket be?",
      .claim = "Gradients go in buckets, one all-reduce each; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation = "Small buckets start early and pay more latency, large ones leave nothing to overlap with.",
      .promise = Promise::kBitwise,
      .variants = {size(4 << 20), size(1 << 20), size(256 << 10), size(64 << 10)},
      .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
