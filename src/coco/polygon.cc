// Polygon to run lengths, as pycocotools' rleFrPoly does it. The outline on a grid five times as fine, and one event
// wherever it crosses the centre line of a pixel column. The original lists every point of the fine outline; here only
// the crossings are computed, with the same double expressions, since ties at .5 are decided by their last bit.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "coco/rle.h"
#include "core/error.h"

namespace ttt::coco {
namespace {

struct Point {
  std::int64_t x, y;  // fine grid
};

// Largest coordinate. Beyond it, rounding could make a step along a steep edge skip a column of the fine grid.
// Differences of 1 - 2^-24 at an error of 2^-29 are safe. The original's 32-bit integers overflow much later.
constexpr double kMaxFine = 8388608;  // 2^23

std::int64_t to_fine(double v) {
  const double fine = 5 * v + .5;
  if (!(std::abs(fine) < kMaxFine)) {
    char number[32];
    std::snprintf(number, sizeof number, "%g", v);
    throw DataError(std::string("A polygon has the coordinate ") + number +
                    ". Coordinates must be finite and within 1,600,000 pixels of the origin.");
  }
  return static_cast<std::int64_t>(fine);  // towards zero, as C does
}

// Appends column * height + row for every crossing of one edge.
class EdgeTracer {
 public:
  EdgeTracer(std::uint32_t height, std::uint32_t width, std::vector<std::uint32_t>& events)
      : height_(height), last_a_(5 * (static_cast<std::int64_t>(width) - 1) + 2), events_(events) {}

  void trace(Point from, Point to) {
    const std::int64_t dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
    // A repeated vertex: its slope would be 0/0, and it crosses nothing.
    if (dx == 0) return;
    if ((dx >= dy && from.x > to.x) || (dx < dy && from.y > to.y)) std::swap(from, to);
    if (dx >= dy) {
      flat(from, to, static_cast<double>(to.y - from.y) / static_cast<double>(dx));
    } else {
      steep(from, to, static_cast<double>(to.x - from.x) / static_cast<double>(dy));
    }
  }

 private:
  // Fine columns a whose border a | a+1 is a pixel column's centre line: a = 2 mod 5. The first at or after `low`.
  static std::int64_t first_a(std::int64_t low) { return low <= 2 ? 2 : low + (7 - low % 5) % 5; }

  void add(std::int64_t a, std::int64_t v) {
    const std::int64_t row = v <= 2 ? 0 : std::min(height_, (v + 2) / 5);
    events_.push_back(static_cast<std::uint32_t>(a / 5 * height_ + row));
  }

  // One point per fine column, left to right.
  void flat(Point from, Point to, double slope) {
    const auto row = [&](std::int64_t t) {
      return static_cast<std::int64_t>(static_cast<double>(from.y) + slope * static_cast<double>(t) + .5);
    };
    const std::int64_t last = std::min(to.x - 1, last_a_);
    for (std::int64_t a = first_a(from.x); a <= last; a += 5) {
      const std::int64_t t = a - from.x;
      add(a, std::min(row(t), row(t + 1)));
    }
  }

  // One point per fine row, downwards; |slope| < 1, so a step moves by one fine column at most.
  void steep(Point from, Point to, double slope) {
    const std::int64_t dy = to.y - from.y;
    const auto column = [&](std::int64_t t) {
      return static_cast<std::int64_t>(static_cast<double>(from.x) + slope * static_cast<double>(t) + .5);
    };
    const bool rightwards = slope > 0;
    const std::int64_t last = std::min(std::max(from.x, to.x) - 1, last_a_);
    for (std::int64_t a = first_a(std::min(from.x, to.x)); a <= last; a += 5) {
      // The last t on the near side of the border: guessed, then corrected with the expression that decides.
      const auto near = [&](std::int64_t t) { return rightwards ? column(t) <= a : column(t) > a; };
      const double guess = (static_cast<double>(a - from.x) + .5) / slope;
      std::int64_t t = std::clamp(static_cast<std::int64_t>(guess), std::int64_t{0}, dy - 1);
      while (t > 0 && !near(t)) --t;
      while (t + 1 < dy && near(t + 1)) ++t;
      add(a, from.y + t);
    }
  }

  std::int64_t height_, last_a_;
  std::vector<std::uint32_t>& events_;
};

// Sorted positions to run lengths. A run of length 0 after the first is dropped, and the run behind it continues the
// one before.
std::vector<std::uint32_t> runs_of(const std::vector<std::uint32_t>& positions) {
  std::vector<std::uint32_t> runs;
  runs.reserve(positions.size());
  runs.push_back(positions[0]);
  for (std::size_t i = 1; i < positions.size(); ++i) {
    const std::uint32_t run = positions[i] - positions[i - 1];
    if (run > 0) {
      runs.push_back(run);
    } else if (++i < positions.size()) {
      runs.back() += positions[i] - positions[i - 1];
    }
  }
  return runs;
}

}  // namespace

Rle rasterize(std::span<const double> polygon, std::uint32_t height, std::uint32_t width) {
  const std::uint32_t total = pixels(height, width);
  const std::size_t n = polygon.size() / 2;
  std::vector<std::uint32_t> events;
  if (n > 0 && total > 0) {
    EdgeTracer tracer(height, width, events);
    const Point first{to_fine(polygon[0]), to_fine(polygon[1])};
    Point from = first;
    for (std::size_t i = 1; i < n; ++i) {
      const Point to{to_fine(polygon[2 * i]), to_fine(polygon[2 * i + 1])};
      tracer.trace(from, to);
      from = to;
    }
    tracer.trace(from, first);
    std::sort(events.begin(), events.end());
  }
  events.push_back(total);
  return {height, width, runs_of(events)};
}

Rle rasterize(std::span<const Polygon> polygons, std::uint32_t height, std::uint32_t width) {
  if (polygons.empty()) return {height, width, {pixels(height, width)}};
  if (polygons.size() == 1) return rasterize(std::span<const double>(polygons[0]), height, width);
  std::vector<Rle> parts;
  parts.reserve(polygons.size());
  for (const Polygon& polygon : polygons) parts.push_back(rasterize(std::span<const double>(polygon), height, width));
  return merge(parts, false);
}

}  // namespace ttt::coco
