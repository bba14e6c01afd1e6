// Inputs of the kernel benchmarks. compare_kernels.py makes the same ones (same counter-based draws), so that
// torchvision's rows beside ours are for the same boxes.
#pragma once

#include <cmath>
#include <cstdint>
#include <new>
#include <vector>

#include "core/rng.h"

namespace ttt::micro {

// Aligned as a tensor library allocates: a cache line. Vectors of 64 bytes that straddle two lines cost twice.
template <class T> struct CacheAligned {
  using value_type = T;
  CacheAligned() = default;
  template <class U> CacheAligned(const CacheAligned<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{64}); }
  bool operator==(const CacheAligned&) const { return true; }
};
using Values = std::vector<float, CacheAligned<float>>;

inline Values random_values(std::uint64_t key, std::int64_t n, double lo, double hi) {
  Stream s(key);
  Values v(n);
  for (float& x : v) x = static_cast<float>(s.uniform(lo, hi));
  return v;
}

// n boxes inside the image, sides log-uniform from `smallest` pixels to the image's.
inline Values random_boxes(std::uint64_t key, std::int64_t n, double height, double width, double smallest) {
  Stream s(key);
  Values boxes;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = smallest * std::pow(width / smallest, s.uniform()),
                 h = smallest * std::pow(height / smallest, s.uniform());
    const double x = s.uniform() * (width - w), y = s.uniform() * (height - h);
    boxes.insert(boxes.end(),
        {static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + w), static_cast<float>(y + h)});
  }
  return boxes;
}

// Anchors of a pyramid with strides 4 to 64: three shapes per cell, level by level.
struct Anchors {
  Values boxes;
  std::vector<std::int64_t> level_start{0};
};
inline Anchors pyramid_anchors(std::int64_t height, std::int64_t width) {
  Anchors a;
  for (std::int64_t stride = 4; stride <= 64; stride *= 2) {
    for (std::int64_t y = 0; y < (height + stride - 1) / stride; ++y)
      for (std::int64_t x = 0; x < (width + stride - 1) / stride; ++x)
        for (const double ratio : {0.5, 1.0, 2.0}) {
          const double h = 4 * stride * std::sqrt(ratio), w = 4 * stride / std::sqrt(ratio), cx = x * stride,
                       cy = y * stride;
          a.boxes.insert(a.boxes.end(), {float(cx - w), float(cy - h), float(cx + w), float(cy + h)});
        }
    a.level_start.push_back(std::ssize(a.boxes) / 4);
  }
  return a;
}

}  // namespace ttt::micro
