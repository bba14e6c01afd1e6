// A float32 as its bits, and back.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/host_device.h"

namespace ttt::kernels {

TTT_HD inline std::uint32_t bits_of(float v) {
  std::uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
TTT_HD inline float float_of(std::uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

}  // namespace ttt::kernels
