#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_aspect_grouping() {
  const auto padded = [](const char* name, const char* padding, bool grouped) {
    return Variant{.name = name, .change = [padding, grouped](train::Recipe& r) {
                     r.data.generated = "mixed", r.data.padding = padding, r.data.group_by_aspect = grouped;
                     r.data.short_side = r.data.long_side * 3 / 4;  // what the two sizes are computed from
                   }};
  };
  return {.name = "aspect_grouping",
      .question = "What is it worth that a batch has only landscape or only portrait images?",
      .claim = "Samples of like size in one batch balance the work; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "A batch is padded to its largest image: with both kinds in it, a quarter or more of the pixels is "
          "padding. Measured on images of "
          "4:3 and 3:4 where no data is given.",
      .promise = Promise::kOtherWork,  // batches of other images
      .variants = {padded("mixed: one size", "fixed", false), padded("grouped: two sizes", "two", true),
          padded("mixed: batch's size", "batch", false)},
      .block_steps = 4};
}

}  // namespace ttt::ablations
