#include "core/text.h"
#include "measure/ablation.h"

namespace ttt::ablations {

static Variant workers(std::int64_t n, std::int64_t prefetch) {
  return {.name = result::counted(n, "worker") + " prefetch " + std::to_string(prefetch),
      .change = [n, prefetch](train::Recipe& r) {
        r.data.workers = n, r.data.prefetch = prefetch;
        r.train.global_batch = 0, r.train.images_per_rank = 2;  // blocks are long here, so steps are short
      }};
}

Ablation ablate_workers() {
  return {.name = "workers",
      .question = "How many loader threads does a step need, and how far should they work ahead?",
      .claim = "MNIST takes 6.7 s an epoch with 1 worker, 4.1 s with 4, 4.5 s with 8.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Inline loading (0) adds the whole input path to the step; one worker hides most of it where a core is "
          "free, and more help "
          "only where one cannot keep up. Where all cores compute, a worker takes their time. Measured with two "
          "images a rank.",
      .promise = Promise::kBitwise,
      .variants = {workers(0, 2), workers(1, 1), workers(1, 2), workers(1, 4), workers(2, 2), workers(4, 2)},
      .block_steps = 6,
      .settle_steps = 2};  // what the other side's workers still had at hand when they were paused
}

}  // namespace ttt::ablations
