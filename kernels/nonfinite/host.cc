#include <bit>

#include "kernels/nonfinite/nonfinite.h"

namespace ttt::kernels::host {

void find_nonfinite(const float* gradient, std::int64_t count, std::int32_t* found) {
  constexpr std::uint32_t kExponent = 0x7F800000u;  // all ones for infinities and NaNs
  std::uint32_t bad = 0;
  for (std::int64_t i = 0; i < count; ++i) bad |= (std::bit_cast<std::uint32_t>(gradient[i]) & kExponent) == kExponent;
  if (bad != 0) *found = 1;
}

}  // namespace ttt::kernels::host
