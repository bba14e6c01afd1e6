#include "ablations/runner/ablation.h"

namespace ttt::ablations {

Ablation ablate_shapes() {
  const auto shapes = [](const char* name) { return Variant{.name = name, .change = [name](train::Recipe& r) { r.model.shapes = name; }}; };
  return {.name = "shapes",
          .question = "What do fixed shapes, with no question to the device in the step, cost or bring?",
          .expectation = "On a CPU a question is free and fillers are work: dynamic is faster. On a GPU the question stops the queue.",
          .promise = Promise::kClose,
          .rtol = 1e-3,  // the same sums over other numbers of rows, then two updates
          .variants = {shapes("static"), shapes("dynamic")}};
}

}  // namespace ttt::ablations
