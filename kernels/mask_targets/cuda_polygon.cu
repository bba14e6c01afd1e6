// Mask targets from polygons: a block per RoI. Where an outline crosses a column of pixel centres, inside and outside
// change. Crossings of different edges are independent and cancel in pairs, so edges are traced in parallel into bits
// (an exclusive or has no order). Filling is the parity of all bits before: COCO's rule to the bit (polygon.h).
#include "kernels/common/launch.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/mask_targets/polygon.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// One RoI's map from image coordinates to the grid. float32 throughout, the ratio rounded once from double: the order
// of the reference's tensor expressions.
struct Grid {
  float x, y, scale_x, scale_y;
  __device__ Grid(const float* roi, int size) : x(roi[0]), y(roi[1]) {
    const float side_x = roi[2] - roi[0] < 1.0f ? 1.0f : roi[2] - roi[0],
                side_y = roi[3] - roi[1] < 1.0f ? 1.0f : roi[3] - roi[1];
    scale_x = static_cast<float>(size / static_cast<double>(side_x));
    scale_y = static_cast<float>(size / static_cast<double>(side_y));
  }
  __device__ std::int32_t unit_x(const float* vertex) const {
    return polygon_unit(static_cast<double>((vertex[0] - x) * scale_x));
  }
  __device__ std::int32_t unit_y(const float* vertex) const {
    return polygon_unit(static_cast<double>((vertex[1] - y) * scale_y));
  }
};

// toggles, inside: bits of the grid, column-major, `words` of 32. Adds the polygon to inside; toggles is zero before
// and after.
__device__ void add_polygon(const Grid& grid, int size, const float* vertices, int n, int words, unsigned* toggles,
                            unsigned* inside) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) {
    const float *from = vertices + 2 * (i == 0 ? n - 1 : i - 1), *to = vertices + 2 * i;
    polygon_edge(grid.unit_x(from), grid.unit_y(from), grid.unit_x(to), grid.unit_y(to), size,
                 [=](int at) { atomicXor(&toggles[at / 32], 1u << at % 32); });
  }
  __syncthreads();
  for (int w = static_cast<int>(threadIdx.x); w < words; w += kThreads) {
    int before = 0;
    for (int i = 0; i < w; ++i) before += __popc(toggles[i]);
    unsigned parity = toggles[w];  // bit b: parity of bits 0 .. b
    for (int shift = 1; shift < 32; shift *= 2) parity ^= parity << shift;
    inside[w] |= before % 2 == 0 ? parity : ~parity;
  }
  __syncthreads();
  for (int w = static_cast<int>(threadIdx.x); w < words; w += kThreads) toggles[w] = 0;
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads)
    mask_targets_polygon_kernel(MaskTargetParams p, PolygonView polygons, const std::int32_t* object, const float* rois,
                                float* out) {
  const int area = p.size * p.size,
            words = area / 32 + 1;  // a crossing below the last row of the last column falls behind the grid
  auto* toggles = dynamic_shared<unsigned>();
  unsigned* inside = toggles + words;
  for (int w = static_cast<int>(threadIdx.x); w < 2 * words; w += kThreads) toggles[w] = 0;
  __syncthreads();
  const std::int64_t roi = blockIdx.x;
  const std::int32_t own = object[roi];
  if (own >= 0) {
    const Grid grid(rois + 4 * roi, p.size);
    for (std::int32_t i = polygons.object_polygon[own]; i < polygons.object_polygon[own + 1]; ++i) {
      const std::int32_t first = polygons.polygon_vertex[i], n = polygons.polygon_vertex[i + 1] - first;
      if (n >= 3)
        add_polygon(grid, p.size, polygons.vertices + 2 * static_cast<std::int64_t>(first), n, words, toggles, inside);
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < area; i += kThreads) {
    const int bit = i % p.size * p.size + i / p.size;  // out is row-major
    out[roi * area + i] = inside[bit / 32] >> bit % 32 & 1 ? 1.0f : 0.0f;
  }
}

}  // namespace

void mask_targets_polygon(const MaskTargetParams& p, const PolygonView& polygons, const std::int32_t* object,
                          const float* rois, float* out, cudaStream_t stream) {
  if (p.size < 1) throw UsageError("Mask targets want a side of at least one pixel. Correct MaskTargetParams::size.");
  const std::size_t words = static_cast<std::size_t>(p.size) * p.size / 32 + 1;
  launch("mask_targets_polygon", mask_targets_polygon_kernel,
         {.x = p.rois, .threads = kThreads, .shared = 2 * words * sizeof(unsigned)}, stream, p, polygons, object, rois,
         out);
}

}  // namespace ttt::kernels::cuda
