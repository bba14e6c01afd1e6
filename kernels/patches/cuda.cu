// Patches around anchors, a block for each. In the gradient a warp has one pixel of a patch. The first row that reads
// a pixel owns it, and adds up what all rows give it, in their order: no atomics, and the reference implementation's
// sums. Rows that meet a pixel have their centres next to it, so their places alone tell.
#include "core/error.h"
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/common/vector.h"
#include "kernels/patches/patches.h"
#include "kernels/patches/place.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 288;  // a warp for each pixel of a patch

template <class T> struct Maps { T* level[kMaxLevels]; };

// A place in 32 bits: 4 of the level, 14 of row and column each.
__device__ unsigned packed_place(const Place& at) {
  return static_cast<unsigned>(at.level) << 28 | static_cast<unsigned>(at.y) << 14 | static_cast<unsigned>(at.x);
}
__device__ Place unpacked_place(unsigned v) {
  return {
      static_cast<int>(v >> 28), static_cast<std::int32_t>(v >> 14 & 0x3FFF), static_cast<std::int32_t>(v & 0x3FFF)};
}

// The pixel of the patch around `centre` that lies at `at`; -1: none.
__device__ int tap_at(unsigned centre, const Place& at) {
  const Place c = unpacked_place(centre);
  const int dy = at.y - c.y + 1, dx = at.x - c.x + 1;
  return c.level == at.level && dy >= 0 && dy < 3 && dx >= 0 && dx < 3 ? 3 * dy + dx : -1;
}

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads) patches_forward_kernel(
    __grid_constant__ const PatchParams p, __grid_constant__ const Maps<const T> maps, PatchRows rows, T* patches) {
  using Vector = Pack<T, kWidth>;
  const std::int64_t block = blockIdx.x, image = block / p.rows;
  const bool there = block % p.rows < rows.count[image];
  const Place centre = there ? place_of(p, rows.index[block]) : Place{};
  const int vectors = static_cast<int>(p.channels / kWidth), lane = static_cast<int>(threadIdx.x) % 32,
            tap = static_cast<int>(threadIdx.x) / 32;
  const Place at = tap_of(centre, tap);
  const bool reads = there && is_inside(p, at);
  const Vector* src = reinterpret_cast<const Vector*>(maps.level[at.level]) +
                      ((image * p.height[at.level] + at.y) * p.width[at.level] + at.x) * vectors;
  Vector* dst = reinterpret_cast<Vector*>(patches) + (block * 9 + tap) * vectors;
  for (int v = lane; v < vectors; v += 32) {
    Vector value = packed<T, kWidth>({});
    if (reads) value = src[v];
    dst[v] = value;
  }
}

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads) patches_backward_kernel(
    __grid_constant__ const PatchParams p, const T* grad, PatchRows rows, __grid_constant__ const Maps<T> maps) {
  using Vector = Pack<T, kWidth>;
  auto* centre = dynamic_shared<unsigned>();
  const std::int64_t image = blockIdx.x / p.rows;
  const int own = static_cast<int>(blockIdx.x % p.rows), count = min(rows.count[image], static_cast<int>(p.rows));
  if (own >= count) return;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads)
    centre[i] = packed_place(place_of(p, rows.index[image * p.rows + i]));
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32, vectors = static_cast<int>(p.channels / kWidth);
  const Place at = tap_of(unpacked_place(centre[own]), static_cast<int>(threadIdx.x) / 32);
  if (!is_inside(p, at)) return;
  for (int base = 0; base < own; base += 32)
    if (__any_sync(kAllLanes, base + lane < own && tap_at(centre[base + lane], at) >= 0)) return;  // has an owner
  const Vector* src = reinterpret_cast<const Vector*>(grad) + image * p.rows * 9 * vectors;
  Vector* dst = reinterpret_cast<Vector*>(maps.level[at.level]) +
                ((image * p.height[at.level] + at.y) * p.width[at.level] + at.x) * vectors;
  for (int first = 0; first < vectors; first += 32) {
    const int v = first + lane;
    float sum[kWidth] = {};
    if (v < vectors) widen_all(dst[v], sum);
    for (int base = own / 32 * 32; base < count; base += 32) {
      const int i = base + lane, tap = i >= own && i < count ? tap_at(centre[i], at) : -1;
      for (unsigned hits = __ballot_sync(kAllLanes, tap >= 0); hits != 0; hits &= hits - 1) {
        const int hit = __ffs(static_cast<int>(hits)) - 1, of = __shfl_sync(kAllLanes, tap, hit);
        if (v >= vectors) continue;
        const Vector g = src[(static_cast<std::int64_t>(base + hit) * 9 + of) * vectors + v];
        add_product(1.0f, g, sum);
      }
    }
    if (v < vectors) dst[v] = packed<T, kWidth>(sum);
  }
}

template <class T> constexpr int kWide = 16 / sizeof(T);

// Whether all addresses take packs of kWide channels.
template <class T, class U> bool fill_maps(const PatchParams& p, U* const* from, const T* other, Maps<U>& maps) {
  if (p.levels < 1 || p.levels > kMaxLevels)
    throw UsageError("Patches want 1 to 8 levels. Correct PatchParams::levels.");
  bool wide = takes_packs<T, kWide<T>>(p.channels, other);
  for (int l = 0; l < p.levels; ++l) {
    if (p.height[l] > 16384 || p.width[l] > 16384)
      throw UsageError("Patches want maps of at most 16,384 pixels on a side. Lower the images' size.");
    maps.level[l] = from[l];
    wide = wide && takes_packs<T, kWide<T>>(p.channels, static_cast<const T*>(from[l]));
  }
  return wide;
}

}  // namespace

template <class T> void patches_forward(
    const PatchParams& p, const T* const* features, const PatchRows& rows, T* patches, cudaStream_t stream) {
  Maps<const T> maps{};
  const bool wide = fill_maps<T>(p, features, patches, maps);
  launch("patches_forward", wide ? patches_forward_kernel<T, kWide<T>> : patches_forward_kernel<T, 1>,
      {.x = p.images * p.rows, .threads = kThreads}, stream, p, maps, rows, patches);
}

template <class T> void patches_backward(
    const PatchParams& p, const T* grad, const PatchRows& rows, T* const* grad_features, cudaStream_t stream) {
  Maps<T> maps{};
  const bool wide = fill_maps<T>(p, grad_features, grad, maps);
  launch("patches_backward", wide ? patches_backward_kernel<T, kWide<T>> : patches_backward_kernel<T, 1>,
      {.x = p.images * p.rows, .threads = kThreads, .shared = static_cast<std::size_t>(p.rows) * sizeof(unsigned)},
      stream, p, grad, rows, maps);
}

#define TTT_PATCHES(T)                                                                                    \
  template void patches_forward(const PatchParams&, const T* const*, const PatchRows&, T*, cudaStream_t); \
  template void patches_backward(const PatchParams&, const T*, const PatchRows&, T* const*, cudaStream_t);
TTT_PATCHES(float)
TTT_PATCHES(Bfloat16)
TTT_PATCHES(Float16)
#undef TTT_PATCHES

}  // namespace ttt::kernels::cuda
