#include "measure/operation_arm.h"

namespace ttt::ablations {

Ablation ablate_threads_against_ranks() {
  const auto one_rank = [](const Bench& bench) -> std::unique_ptr<Arm> {
    train::Recipe r = bench.recipe;
    if (r.train.global_batch == 0) r.train.global_batch = r.train.images_per_rank * bench.world.size();
    r.train.threads = bench.world.size();
    r.data.workers *= bench.world.size();  // as many as the ranks have together
    const Bench alone{r, bench.world, bench.context};
    return std::make_unique<AloneArm>(alone);
  };
  return {.name = "threads_against_ranks",
      .question =
          "The same global batch on the same cores: as many ranks of one thread, or one rank of as many threads?",
      .claim = "One process for all GPUs scales to 2 to 4 of them; one process each scales close to linearly.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Ranks run everything in parallel and pay for the reduction; threads share one batch and pay wherever an "
          "operator is too small "
          "to be divided, or is not divided at all.",
      .promise = Promise::kOtherWork,  // normalisation and losses see a rank's images
      .variants = {{.name = "ranks of one thread", .change = [](train::Recipe& r) { r.train.threads = 1; }},
          {.name = "one rank of threads", .arm = one_rank}},
      .unsupported = [](const Capabilities& here) {
        if (const std::string reason = needs_ranks(here); !reason.empty()) return reason;
        if (here.nodes > 1) return std::string("one rank has the cores of one node: start it on one");
        return here.cores >= here.ranks ? std::string()
                                        : std::string("a rank may use ") + std::to_string(here.cores) +
                                              " core, so it has no use for threads: start it with mpirun --bind-to "
                                              "none, and at most as many "
                                              "ranks as cores";
      }};
}

}  // namespace ttt::ablations
