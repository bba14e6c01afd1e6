// One rank's batch on the device, and what a step needs besides.
#pragma once

#include <ATen/core/Tensor.h>

#include "data/host_batch.h"

namespace ttt::model {

struct DeviceBatch {
  at::Tensor images;      // [N, 3, H, W] channels last
  at::Tensor image_size;  // [N, 2] int32 height, width before padding
  at::Tensor image_id;    // [N] int64
  at::Tensor gt_box;      // [N, G, 4]
  at::Tensor gt_label;    // [N, G] int32, 0 where there is no object
  at::Tensor gt_count;    // [N] int32
  const data::PackedMasks* masks = nullptr;
};

// Key of the random draws of a step: the same on every number of ranks.
struct DrawKey {
  std::uint64_t seed = 0, step = 0;
};

}  // namespace ttt::model
