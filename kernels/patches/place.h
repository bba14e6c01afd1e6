// Where an anchor lies.
#pragma once

#include "core/host_device.h"
#include "kernels/patches/patches.h"

namespace ttt::kernels {

struct Place {
  int level = 0;
  std::int32_t y = 0, x = 0;
};

TTT_HD inline Place place_of(const PatchParams& p, std::int32_t anchor) {
  Place at;
  std::int64_t pixel = anchor / p.kinds;
  for (; at.level + 1 < p.levels && pixel >= p.height[at.level] * p.width[at.level]; ++at.level)
    pixel -= p.height[at.level] * p.width[at.level];
  at.y = static_cast<std::int32_t>(pixel / p.width[at.level]);
  at.x = static_cast<std::int32_t>(pixel % p.width[at.level]);
  return at;
}

TTT_HD inline bool is_inside(const PatchParams& p, const Place& at) {
  return at.y >= 0 && at.y < p.height[at.level] && at.x >= 0 && at.x < p.width[at.level];
}

// Place of pixel `tap` of the patch around `centre`.
TTT_HD inline Place tap_of(const Place& centre, int tap) {
  return {centre.level, centre.y + tap / 3 - 1, centre.x + tap % 3 - 1};
}

}  // namespace ttt::kernels
