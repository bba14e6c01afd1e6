// Category names of a model's labels, where no data set gives them.
#pragma once

#include <cstdint>
#include <vector>

#include "coco/dataset.h"

namespace ttt {

// By label - 1, for a model of so many classes, the background counted. 81 is COCO (80 categories, whose ids have
// gaps), 91 is torchvision's models, whose labels are COCO's ids, up to 11 the generated shapes. Any other number gives
// "class 1", "class 2", ...
std::vector<coco::Category> categories_of(std::int64_t classes);

}  // namespace ttt
