#include <algorithm>

#include "core/parallel.h"
#include "kernels/patches/patches.h"
#include "kernels/patches/place.h"

namespace ttt::kernels::host {
namespace {

// visit(patch pixel, feature pixel or -1, level) of image n in the order of rows; both as offsets of their first
// channels, the latter into the level.
template <class Visit> void visit_pixels(const PatchParams& p, const PatchRows& rows, std::int64_t n, Visit&& visit) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const bool there = r < rows.count[n];
    const Place centre = there ? place_of(p, rows.index[n * p.rows + r]) : Place{};
    for (int tap = 0; tap < 9; ++tap) {
      const Place at = tap_of(centre, tap);
      const std::int64_t pixel = (n * p.height[at.level] + at.y) * p.width[at.level] + at.x;
      visit(((n * p.rows + r) * 9 + tap) * p.channels, there && is_inside(p, at) ? pixel * p.channels : -1, at.level);
    }
  }
}

}  // namespace

void patches_forward(
    const PatchParams& p, const float* const* features, const PatchRows& rows, float* patches, ThreadPool* pool) {
  parallel_for(pool, p.images, [&](std::int64_t n) {
    visit_pixels(p, rows, n, [&](std::int64_t to, std::int64_t from, int level) {
      if (from < 0) std::fill_n(patches + to, p.channels, 0.0f);
      else std::copy_n(features[level] + from, p.channels, patches + to);
    });
  });
}

void patches_backward(
    const PatchParams& p, const float* grad, const PatchRows& rows, float* const* grad_features, ThreadPool* pool) {
  parallel_for(pool, p.images, [&](std::int64_t n) {
    visit_pixels(p, rows, n, [&](std::int64_t from, std::int64_t to, int level) {
      if (to < 0) return;
      for (std::int64_t c = 0; c < p.channels; ++c) grad_features[level][to + c] += grad[from + c];
    });
  });
}

}  // namespace ttt::kernels::host
