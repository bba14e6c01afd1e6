#include "benchmarks/ablations/batch.h"
#include "benchmarks/ablations/shapes.h"
#include "measure/ablation.h"

namespace ttt::ablations {

static Variant rows(const char* name, const char* shapes) {
  return {.name = name, .change = [shapes](train::Recipe& r) { set_shapes(r, shapes); }};
}

Ablation ablate_mask_rows() {
  return {.name = "mask_rows",
      .question = "What do the mask branch's fillers cost, and what does it cost to leave them out?",
      .claim = "none known",
      .expectation =
          "Quarters leave out most of what the positives do not fill, and the host waits for a copy, not for the "
          "device's work. At the start of a training few proposals match an object, so the gain is at its largest: "
          "train.weights measures a later step.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // the same sums over other numbers of rows, then two updates
      .variants = {rows("all_rows", "static"), rows("quarters", "quarters"), rows("positives", "dynamic")},
      .settings = {images_a_rank(1), images_a_rank(4)}};
}

}  // namespace ttt::ablations
