#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/mask_targets/polygon.h"

namespace ttt::kernels::host {
namespace {

// The weights with which one target row (or column) averages the bitmap's rows: dense over [begin, begin + n).
struct Average {
  std::int64_t begin = 0;
  std::vector<float> weight;
};

constexpr float kLongestRoi = 1e6f;  // keeps sample counts inside an int

// RoIAlign's samples along one axis, adaptive count, not aligned. `extent` is the image's; the bitmap covers
// [crop, crop + n) of it. Outside it the mask is 0, so those weights are not needed.
void average_axis(float start, float end, int size, std::int64_t extent, std::int64_t crop, std::int64_t n,
                  std::vector<Average>& out) {
  out.resize(size);
  for (Average& a : out) a.begin = 0, a.weight.clear();
  if (!std::isfinite(start) || !std::isfinite(end) || end - start > kLongestRoi) return;
  const float bin = std::max(end - start, 1.0f) / static_cast<float>(size);
  const int grid = static_cast<int>(std::ceil(bin));
  for (int b = 0; b < size; ++b) {
    Average& a = out[b];
    const auto add = [&](std::int64_t pixel, float weight) {
      pixel -= crop;
      if (pixel < 0 || pixel >= n) return;
      if (a.weight.empty()) a.begin = pixel;
      if (pixel >= a.begin + static_cast<std::int64_t>(a.weight.size())) a.weight.resize(pixel - a.begin + 1, 0.0f);
      a.weight[pixel - a.begin] += weight;
    };
    for (int s = 0; s < grid; ++s) {
      float v = start + static_cast<float>(b) * bin + (static_cast<float>(s) + 0.5f) * bin / static_cast<float>(grid);
      if (!(v >= -1.0f && v <= static_cast<float>(extent))) continue;
      v = std::max(v, 0.0f);
      const auto low = static_cast<std::int64_t>(v);
      if (low >= extent - 1) {
        add(extent - 1, 1.0f);
      } else {
        add(low, 1.0f - (v - static_cast<float>(low)));
        add(low + 1, v - static_cast<float>(low));
      }
    }
    for (float& w : a.weight) w /= static_cast<float>(grid);
  }
}

struct Bitmap {
  const std::uint8_t* bytes;  // [h, w]
  std::int64_t w;
};

// out[b, c] = sum over rows and columns of weight * weight * bit: rows first, a whole row of the bitmap at a time.
void average_bitmap(const Bitmap& bitmap, const std::vector<Average>& y, const std::vector<Average>& x,
                    std::vector<float>& columns, float* out) {
  std::int64_t lo = bitmap.w, hi = 0;
  for (const Average& a : x) {
    if (a.weight.empty()) continue;
    lo = std::min(lo, a.begin);
    hi = std::max<std::int64_t>(hi, a.begin + a.weight.size());
  }
  for (const Average& row : y) {
    columns.assign(std::max<std::int64_t>(hi - lo, 0), 0.0f);
    for (std::size_t r = 0; r < row.weight.size(); ++r) {
      const std::uint8_t* bits = bitmap.bytes + (row.begin + static_cast<std::int64_t>(r)) * bitmap.w + lo;
      for (std::int64_t c = 0; c < hi - lo; ++c) columns[c] += row.weight[r] * static_cast<float>(bits[c] != 0);
    }
    for (const Average& a : x) {
      float sum = 0;
      for (std::size_t c = 0; c < a.weight.size(); ++c)
        sum += a.weight[c] * columns[a.begin - lo + static_cast<std::int64_t>(c)];
      *out++ = sum;
    }
  }
}

void check(const MaskTargetParams& p) {
  if (p.size < 1) throw UsageError("Mask targets want a side of at least one pixel. Correct MaskTargetParams::size.");
}

}  // namespace

void mask_targets_bitmap(const MaskTargetParams& p, const BitmapTargetsIn& in, float* out, ThreadPool* pool) {
  check(p);
  const std::int64_t area = static_cast<std::int64_t>(p.size) * p.size;
  parallel_ranges(pool, p.rois, 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Average> x, y;
    std::vector<float> columns;
    for (std::int64_t r = begin; r < end; ++r) {
      float* target = out + r * area;
      if (in.object[r] < 0) {
        std::fill(target, target + area, 0.0f);
        continue;
      }
      const std::int32_t* box = in.bitmap_box + 4 * static_cast<std::int64_t>(in.object[r]);
      const float* roi = in.rois + 4 * r;
      average_axis(roi[0], roi[2], p.size, in.image_width[r], box[0], box[2], x);
      average_axis(roi[1], roi[3], p.size, in.image_height[r], box[1], box[3], y);
      average_bitmap({in.bytes + in.bitmap_offset[in.object[r]], box[2]}, y, x, columns, target);
    }
  });
}

void mask_targets_polygon(const MaskTargetParams& p, const PolygonView& polygons, const std::int32_t* object,
                          const float* rois, float* out, ThreadPool* pool) {
  check(p);
  const std::int64_t area = static_cast<std::int64_t>(p.size) * p.size;
  parallel_ranges(pool, p.rois, 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint8_t> toggles(area + 1);
    for (std::int64_t r = begin; r < end; ++r) {
      float* target = out + r * area;
      std::fill(target, target + area, 0.0f);
      if (object[r] < 0) continue;
      const float* roi = rois + 4 * r;
      // float32 throughout, the ratio rounded once from double: the order of the reference's tensor expressions.
      const float side_x = std::max(roi[2] - roi[0], 1.0f), side_y = std::max(roi[3] - roi[1], 1.0f);
      const auto scale_x = static_cast<float>(p.size / static_cast<double>(side_x));
      const auto scale_y = static_cast<float>(p.size / static_cast<double>(side_y));
      for (std::int32_t i = polygons.object_polygon[object[r]]; i < polygons.object_polygon[object[r] + 1]; ++i) {
        const std::int32_t first = polygons.polygon_vertex[i], n = polygons.polygon_vertex[i + 1] - first;
        if (n < 3) continue;
        std::fill(toggles.begin(), toggles.end(), std::uint8_t{0});
        const auto vertex = [&](int v, double& px, double& py) {
          px = static_cast<double>((polygons.vertices[2 * (first + v)] - roi[0]) * scale_x);
          py = static_cast<double>((polygons.vertices[2 * (first + v) + 1] - roi[1]) * scale_y);
        };
        trace_polygon(n, vertex, p.size, toggles.data());
        fill_traced(p.size, toggles.data(), target);
      }
    }
  });
}

}  // namespace ttt::kernels::host
