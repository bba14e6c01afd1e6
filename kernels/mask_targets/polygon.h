// COCO's polygon rule (pycocotools' frPoly) on a small grid, for mask targets.
//
// COCO traces a polygon at five times the resolution, notes for each column of pixel centres at which row the outline
// crosses it, and fills between the crossings in column-major order. Only crossings matter, so only those are computed:
// in units of 1/5 pixel, column c is crossed between u = 5c + 2 and u = 5c + 3, at v = the smaller v of the two points,
// and everything from row (v <= 2 ? 0 : (v + 2) / 5) on changes from outside to inside or back. Two equal crossings
// cancel. The double expressions below are the rule's own: points at exactly half a unit depend on them.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace ttt::kernels {

// Rounds a coordinate to 1/5 pixel. Coordinates beyond any image (and NaN) are cut, as the product must fit an int.
TTT_HD inline std::int32_t polygon_unit(double v) {
  constexpr double kLimit = 1e8;
  if (!(v > -kLimit)) v = -kLimit;
  if (v > kLimit) v = kLimit;
  return static_cast<std::int32_t>(5.0 * v + 0.5);
}

// Where, column-major on the grid, the inside changes at the crossing of column c at height v (1/5 pixel).
TTT_HD inline int polygon_crossing(int size, int c, std::int64_t v) {
  const std::int64_t row = v <= 2 ? 0 : (v + 2) / 5;
  return c * size + (row > size ? size : static_cast<int>(row));
}

// Crossings of one edge; x, y are the rounded ends. toggle(i), with i in [0, size * size], is called for each; the
// order of calls, of edges too, is of no account.
template <class Toggle>
TTT_HD inline void polygon_edge(std::int32_t xs, std::int32_t ys, std::int32_t xe, std::int32_t ye, int size,
                                const Toggle& toggle) {
  const std::int64_t dx = xe > xs ? std::int64_t{xe} - xs : std::int64_t{xs} - xe;
  const std::int64_t dy = ye > ys ? std::int64_t{ye} - ys : std::int64_t{ys} - ye;
  if (dx == 0) return;  // crosses no column; also the edges of length 0
  if ((dx >= dy && xs > xe) || (dx < dy && ys > ye)) {
    std::int32_t t = xs;
    xs = xe, xe = t;
    t = ys, ys = ye, ye = t;
  }
  const std::int64_t lo = xs < xe ? xs : xe, hi = xs < xe ? xe : xs;
  const std::int64_t first = lo <= 2 ? 0 : (lo + 2) / 5;  // smallest column with 5c + 2 >= lo
  for (std::int64_t c = first; c < size && 5 * c + 2 < hi; ++c) {
    const std::int64_t a = 5 * c + 2;
    if (dx >= dy) {
      const double s = static_cast<double>(ye - ys) / static_cast<double>(dx);
      const auto t = static_cast<double>(a - xs);
      const auto v0 = static_cast<std::int64_t>(ys + s * t + 0.5),
                 v1 = static_cast<std::int64_t>(ys + s * (t + 1) + 0.5);
      toggle(polygon_crossing(size, static_cast<int>(c), v0 < v1 ? v0 : v1));
      continue;
    }
    // A steep edge visits every v once and u moves by at most 1: find the step on which u passes from one side of
    // a | a + 1 to the other, first by the slope, then exactly.
    const double s = static_cast<double>(xe - xs) / static_cast<double>(dy);
    auto t = static_cast<std::int64_t>((static_cast<double>(a) + 0.5 - xs) / s);
    t = t < 0 ? 0 : (t > dy - 1 ? dy - 1 : t);
    const auto before = [&](std::int64_t at) {  // still on the side where the edge begins
      const auto u = static_cast<std::int64_t>(xs + s * static_cast<double>(at) + 0.5);
      return s > 0 ? u <= a : u > a;
    };
    while (t > 0 && !before(t)) --t;
    while (t < dy && before(t + 1)) ++t;
    if (t < dy && before(t)) toggle(polygon_crossing(size, static_cast<int>(c), ys + t));
  }
}

// The toggles of one polygon of n vertices given by vertex(i, x, y). toggles: [size * size + 1] bytes, zeroed by the
// caller.
template <class Vertex>
TTT_HD inline void trace_polygon(int n, const Vertex& vertex, int size, std::uint8_t* toggles) {
  double x = 0, y = 0;
  vertex(n - 1, x, y);
  std::int32_t px = polygon_unit(x), py = polygon_unit(y);
  for (int i = 0; i < n; ++i) {
    vertex(i, x, y);
    const std::int32_t ux = polygon_unit(x), uy = polygon_unit(y);
    polygon_edge(px, py, ux, uy, size, [=](int i) { toggles[i] ^= 1; });
    px = ux, py = uy;
  }
}

// Unites the traced polygon with mask: [size, size] row-major, 0 or 1.
TTT_HD inline void fill_traced(int size, const std::uint8_t* toggles, float* mask) {
  std::uint8_t inside = 0;
  for (int c = 0; c < size; ++c)
    for (int r = 0; r < size; ++r) {
      inside ^= toggles[c * size + r];
      if (inside) mask[r * size + c] = 1.0f;
    }
}

}  // namespace ttt::kernels
