// RoIAlign's gradient by gathering. A block owns a tile of 4 x 4 feature pixels of one level and image. It visits the
// RoIs that touch it in ascending order, and adds their gradients in registers. Every sum has the order of the
// reference implementation, every gradient is written once, and there are no atomics.
//
// A first kernel stores each RoI's level and the pixels that it can touch; a tile's block tests 256 of these at a time.
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/common/vector.h"
#include "kernels/roi_align/taps.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kTile = 4, kLanes = 64,
              kThreads = kTile * kLanes;  // a thread: one row of the tile, one vector of channels
constexpr int kWide = 4;
constexpr int kMaxPooled = 32;
constexpr int kAtOnce = 8;  // RoIs whose weights a block computes between two barriers

template <class T> struct Gradients { T* level[kMaxLevels]; };

// Pixels are bounds, not exact: [first, last], empty where nothing is touched.
struct Footprint {
  std::int32_t image, level, first_y, last_y, first_x, last_x;
};

struct Notes {
  Footprint* footprint;  // [rois]
  // RoIs of image n are among [rois - first[n], end[n]): kept as maxima, so that zero means none.
  std::int32_t *first, *end;  // [images]
};

Notes notes_in(const RoiAlignParams& p, Workspace&& memory) {
  Notes n{};
  n.footprint = memory.take<Footprint>(p.rois);
  n.first = memory.take<std::int32_t>(2 * p.images);
  n.end = n.first == nullptr ? nullptr : n.first + p.images;
  return n;
}

// The pixels that samples between the ends of the span can read; a pixel more on each side than needed.
__device__ void bounds(const RoiSpan& s, std::int64_t extent, std::int32_t& first, std::int32_t& last) {
  const float end = s.start + s.length, limit = static_cast<float>(extent);
  const float low = clip(lower(s.start, end) - 2.0f, limit), high = clip(upper(s.start, end) + 2.0f, limit);
  first = static_cast<std::int32_t>(low);
  last = static_cast<std::int32_t>(high);
}

__global__ void __launch_bounds__(kThreads)
    note_rois(__grid_constant__ const RoiAlignParams p, const float* rois, const std::int32_t* roi_image, Notes notes) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= p.rois) return;
  const float corners[4] = {rois[4 * r], rois[4 * r + 1], rois[4 * r + 2], rois[4 * r + 3]};
  Footprint f{roi_image[r], roi_level(p, corners), 0, -1, 0, -1};
  RoiAxis axis;
  if (f.image < 0 || f.image >= p.images || f.level < 0) {
    f.image = -1;
  } else {
    const RoiSpan y = roi_span(p, f.level, corners + 1), x = roi_span(p, f.level, corners);
    if (roi_axis(y, p.pooled, p.sampling_ratio, p.height[f.level], axis) &&
        roi_axis(x, p.pooled, p.sampling_ratio, p.width[f.level], axis)) {
      bounds(y, p.height[f.level], f.first_y, f.last_y);
      bounds(x, p.width[f.level], f.first_x, f.last_x);
      atomicMax(&notes.first[f.image], static_cast<std::int32_t>(p.rois - r));
      atomicMax(&notes.end[f.image], static_cast<std::int32_t>(r + 1));
    } else {
      f.image = -1;
    }
  }
  notes.footprint[r] = f;
}

struct Tile {
  int level, image, y, x;  // y, x: its first pixel

  __device__ Tile(const RoiAlignParams& p, std::int64_t block) : level(0), image(0), y(0), x(0) {
    for (;; ++level) {
      const std::int64_t rows = (p.height[level] + kTile - 1) / kTile, columns = (p.width[level] + kTile - 1) / kTile,
                         all = p.images * rows * columns;
      if (block >= all) {
        block -= all;
        continue;
      }
      x = static_cast<int>(block % columns) * kTile;
      y = static_cast<int>(block / columns % rows) * kTile;
      image = static_cast<int>(block / columns / rows);
      return;
    }
  }
  __device__ bool touched_by(const Footprint& f) const {
    return f.image == image && f.level == level && f.first_y < y + kTile && f.last_y >= y && f.first_x < x + kTile &&
           f.last_x >= x;
  }
};

// Weights of one RoI's bins for the tile's rows (axis 0) and columns (axis 1).
struct TileWeights {
  float weight[2][kMaxPooled][kTile];
  unsigned present[2][kMaxPooled];  // bit k: the bin reads row or column k
};

// Of `count` RoIs, a thread for each axis and bin of each.
__device__ void fill_weights(const RoiAlignParams& p, const float* rois, const std::int32_t* chosen, int count,
    const Tile& tile, TileWeights* of_roi) {
  for (int i = static_cast<int>(threadIdx.x); i < count * 2 * p.pooled; i += kThreads) {
    const int b = i % p.pooled, is_x = i / p.pooled % 2, origin = is_x ? tile.x : tile.y, which = i / p.pooled / 2;
    const float* roi = rois + std::int64_t{4} * chosen[which];
    const float corners[4] = {roi[0], roi[1], roi[2], roi[3]};
    TileWeights& w = of_roi[which];
    RoiAxis axis;
    roi_axis(roi_span(p, tile.level, is_x ? corners : corners + 1), p.pooled, p.sampling_ratio,
        is_x ? p.width[tile.level] : p.height[tile.level], axis);
    float weight[kTile] = {};
    unsigned present = 0;
    visit_samples(axis, b, [&](std::int32_t pixel, float value) {
#pragma unroll
      for (int k = 0; k < kTile; ++k) {
        if (pixel != origin + k) continue;
        weight[k] = present >> k & 1 ? weight[k] + value : value;
        present |= 1u << k;
      }
    });
    for (int k = 0; k < kTile; ++k) w.weight[is_x][b][k] = weight[k];
    w.present[is_x][b] = present;
  }
}

// Adds one RoI's gradient to the thread's row of pixels.
template <class T, int kWidth> __device__ void add_roi(
    int pooled, const Pack<T, kWidth>* grad, int vectors, int row, const TileWeights& w, float (&sum)[kTile][kWidth]) {
  for (int by = 0; by < pooled; ++by) {
    if (!(w.present[0][by] >> row & 1)) continue;
    const float wy = w.weight[0][by][row];
    for (int bx = 0; bx < pooled; ++bx) {
      const unsigned present = w.present[1][bx];
      if (present == 0) continue;
      const Pack<T, kWidth> g = grad[static_cast<std::int64_t>(by * pooled + bx) * vectors];
#pragma unroll
      for (int k = 0; k < kTile; ++k)
        if (present >> k & 1) add_product(wy * w.weight[1][bx][k], g, sum[k]);
    }
  }
}

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads)
    roi_align_backward_kernel(__grid_constant__ const RoiAlignParams p, const T* grad_out, const float* rois,
        Notes notes, __grid_constant__ const Gradients<T> gradients) {
  using Vector = Pack<T, kWidth>;
  __shared__ std::int32_t hits[kThreads];
  __shared__ int sums[33];
  __shared__ TileWeights weights[kAtOnce];
  const Tile tile(p, blockIdx.x);
  const int row = static_cast<int>(threadIdx.x) / kLanes, vectors = static_cast<int>(p.channels / kWidth);
  const int channel = static_cast<int>(blockIdx.y) * kLanes + static_cast<int>(threadIdx.x) % kLanes;
  const bool works = channel < vectors && tile.y + row < p.height[tile.level];
  Vector* dst = reinterpret_cast<Vector*>(gradients.level[tile.level]) +
                ((tile.image * p.height[tile.level] + tile.y + row) * p.width[tile.level] + tile.x) * vectors + channel;
  const int columns = static_cast<int>(min(static_cast<std::int64_t>(kTile), p.width[tile.level] - tile.x));
  float sum[kTile][kWidth] = {};
  bool begun = false;
  const std::int64_t end = notes.end[tile.image];
  for (std::int64_t base = p.rois - notes.first[tile.image]; base < end; base += kThreads) {
    const std::int64_t r = base + threadIdx.x;
    const bool hit = r < end && tile.touched_by(notes.footprint[r]);
    int count = 0;
    const int at = block_exclusive_sum(hit, sums, count);
    if (hit) hits[at] = static_cast<std::int32_t>(r);
    __syncthreads();
    if (count > 0 && !begun && works)
      for (int k = 0; k < kTile; ++k)
        if (k < columns) widen_all(dst[static_cast<std::int64_t>(k) * vectors], sum[k]);
    begun = begun || count > 0;
    for (int first = 0; first < count; first += kAtOnce) {
      const int here = min(kAtOnce, count - first);
      fill_weights(p, rois, hits + first, here, tile, weights);
      __syncthreads();
      for (int h = 0; h < here && works; ++h)
        add_roi(p.pooled,
            reinterpret_cast<const Vector*>(grad_out) + std::int64_t{hits[first + h]} * p.pooled * p.pooled * vectors +
                channel,
            vectors, row, weights[h], sum);
      __syncthreads();
    }
  }
  if (!begun || !works) return;
  for (int k = 0; k < kTile; ++k)
    if (k < columns) dst[static_cast<std::int64_t>(k) * vectors] = packed<T, kWidth>(sum[k]);
}

}  // namespace

std::size_t roi_align_backward_workspace(const RoiAlignParams& p) { return workspace_bytes(notes_in, p); }

template <class T> void roi_align_backward(const RoiAlignParams& p, const T* grad_out, const float* rois,
    const std::int32_t* roi_image, T* const* grad_features, void* workspace, cudaStream_t stream) {
  if (p.levels < 1 || p.levels > kMaxLevels || p.pooled < 1)
    throw UsageError("RoIAlign wants 1 to 8 levels and at least one bin. Correct RoiAlignParams.");
  if (p.pooled > kMaxPooled || p.rois > 0x7FFFFFFF)
    throw UsageError(
        "RoIAlign's gradient on a GPU takes at most 32 bins on a side and 2^31 RoIs. Lower RoiAlignParams::pooled.");
  if (p.rois == 0) return;
  const Notes notes = notes_in(p, Workspace(workspace));
  clear(notes.first, static_cast<std::size_t>(2 * p.images) * sizeof(std::int32_t), stream);
  launch("note_rois", note_rois, {.x = blocks_for(p.rois, kThreads), .threads = kThreads}, stream, p, rois, roi_image,
      notes);
  Gradients<T> g{};
  bool wide = takes_packs<T, kWide>(p.channels, grad_out);
  std::int64_t tiles = 0;
  for (int l = 0; l < p.levels; ++l) {
    g.level[l] = grad_features[l];
    wide = wide && takes_packs<T, kWide>(p.channels, grad_features[l]);
    tiles += p.images * blocks_for(p.height[l], kTile) * blocks_for(p.width[l], kTile);
  }
  const Shape shape{.x = tiles, .y = blocks_for(wide ? p.channels / kWide : p.channels, kLanes), .threads = kThreads};
  launch("roi_align_backward", wide ? roi_align_backward_kernel<T, kWide> : roi_align_backward_kernel<T, 1>, shape,
      stream, p, grad_out, rois, notes, g);
}

template void roi_align_backward(
    const RoiAlignParams&, const float*, const float*, const std::int32_t*, float* const*, void*, cudaStream_t);
template void roi_align_backward(
    const RoiAlignParams&, const Bfloat16*, const float*, const std::int32_t*, Bfloat16* const*, void*, cudaStream_t);
template void roi_align_backward(
    const RoiAlignParams&, const Float16*, const float*, const std::int32_t*, Float16* const*, void*, cudaStream_t);

}  // namespace ttt::kernels::cuda
