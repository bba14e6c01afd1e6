#include "benchmarks/ablations/shapes.h"
#include "core/allocator.h"
#include "measure/ablation.h"

namespace ttt::ablations {

// Setting malloc's thresholds disables glibc's own adaptation. To alternate both sides in one process, the baseline
// sets the value that glibc had adapted to at the end of a default training. That value is 7.7 MiB, the mask head's
// largest tensor, found with blocks of growing size.
Ablation ablate_freed_memory() {
  const auto sizes = [](const char* name, bool keep) {
    return Variant{.name = name,
        .change = [keep](train::Recipe& r) { r.train.keep_memory = keep; },
        .enter =
            [keep] {
              if (keep) keep_freed_memory();
              else return_freed_memory(8 << 20);
            }};
  };
  const auto shapes = [](const char* name, const char* kind) {
    return Setting{.name = name, .change = [kind](train::Recipe& r) { set_shapes(r, kind); }};
  };
  return {.name = "freed_memory",
      .question = "What is it worth that memory freed in a step stays with the process?",
      .claim = "none known",
      .expectation =
          "A page fault for each 4 KiB that comes back from the system, about 0.25 microseconds bare and several in a "
          "virtual machine: the "
          "counter page_faults.",
      .promise = Promise::kBitwise,
      .variants = {sizes("returned", false), sizes("kept", true)},
      // The filled-up rows of fixed shapes are the larger tensors, beyond the size of which each has a mapping of
      // its own.
      .settings = {shapes("shapes of the positives", "dynamic"), shapes("fixed shapes", "static")},
      .settle_steps = 1,  // the heap is the process's: the first step still has what the other side left
      .unsupported = [](const Capabilities& here) {
        return here.malloc_can_be_set
                   ? std::string()
                   : std::string(
                         "malloc is set by the environment (MALLOC_*, GLIBC_TUNABLES), or is not glibc's: unset it");
      }};
}

}  // namespace ttt::ablations
