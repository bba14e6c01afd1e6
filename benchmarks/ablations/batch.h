// Images of a batch, as ablations set them.
#pragma once

#include <cstdint>

#include "core/text.h"
#include "measure/ablation.h"
#include "run/recipe.h"

namespace ttt::ablations {

// "1 image a rank", whatever the batch of the recipe.
inline Setting images_a_rank(std::int64_t n) {
  return {.name = result::counted(n, "image") + " a rank",
      .change = [n](train::Recipe& r) { r.train.global_batch = 0, r.train.images_per_rank = n; }};
}

}  // namespace ttt::ablations
