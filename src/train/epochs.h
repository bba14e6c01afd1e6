// Passes over the training images in steps.
#pragma once

#include <cmath>
#include <cstdint>

namespace ttt::train {

// To the nearest; `steps_per_epoch` > 0.
inline std::int64_t steps_of(double epochs, std::int64_t steps_per_epoch) {
  return std::llround(epochs * static_cast<double>(steps_per_epoch));
}

}  // namespace ttt::train
