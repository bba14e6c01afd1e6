// The pixels of a window.
#pragma once

#include "core/host_device.h"
#include "kernels/max_pool/max_pool.h"

namespace ttt::kernels {

struct Range {
  std::int64_t begin, end;
};
// Along one axis, of pooled pixel i.
TTT_HD inline Range window_of(std::int64_t i, std::int64_t size) {
  return {i > 0 ? 2 * i - 1 : 0, 2 * i + 2 < size ? 2 * i + 2 : size};
}

// The larger one; a NaN where one is.
TTT_HD inline float larger(float a, float b) { return a > b || a != a ? a : b; }

}  // namespace ttt::kernels
