// Rows of the mask branch and images of a batch, as ablations set them.
#pragma once

#include "core/text.h"
#include "measure/ablation.h"
#include "models/mask_rcnn/config.h"
#include "run/recipe.h"

namespace ttt::ablations {

// model.shapes "static", "quarters" or "dynamic", without cuDNN's search. It would time all algorithms anew for each
// new number of rows.
inline void set_shapes(train::Recipe& r, const char* shapes) {
  r.model.as<model::ModelConfig>().shapes = shapes;
  r.train.cudnn_autotune = false;
}

// Over every rank's batch of so many images.
inline Setting images_a_rank(std::int64_t n) {
  return {.name = result::counted(n, "image") + " a rank",
      .change = [n](train::Recipe& r) { r.train.global_batch = 0, r.train.images_per_rank = n; }};
}

}  // namespace ttt::ablations
