// Rows of the mask branch, as ablations set them.
#pragma once

#include "models/mask_rcnn/config.h"
#include "run/recipe.h"

namespace ttt::ablations {

// model.shapes "static", "quarters" or "dynamic", without cuDNN's search. It would time all algorithms anew for each
// new number of rows.
inline void set_shapes(train::Recipe& r, const char* shapes) {
  r.model.as<model::ModelConfig>().shapes = shapes;
  r.train.cudnn_autotune = false;
}

}  // namespace ttt::ablations
