// The most levels of a feature pyramid.
#pragma once

namespace ttt::kernels {

inline constexpr int kMaxLevels = 8;

}  // namespace ttt::kernels
