// A pyramid of odd sizes, and chosen anchors: at edges and corners, next to each other, twice, and fillers.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/patches/patches.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {

template <class P, class V> std::vector<P*> pointers_to(std::vector<V>& values) {
  std::vector<P*> all;
  for (auto& v : values) all.push_back(v.data());
  return all;
}

struct PatchInputs {
  explicit PatchInputs(std::int64_t channels, std::int64_t rows_wanted = 20) {
    p.levels = 3, p.images = 2, p.channels = channels, p.kinds = 3, p.rows = rows_wanted;
    Stream s = stream(900 + static_cast<std::uint64_t>(channels + rows_wanted));
    std::int64_t anchors = 0;
    for (int l = 0; l < p.levels; ++l) {
      p.height[l] = 7 >> l, p.width[l] = (9 >> l) + 1;
      anchors += p.height[l] * p.width[l] * p.kinds;
      // Small whole numbers: their products and sums are exact in every order.
      features.push_back(whole(s, p.images * p.height[l] * p.width[l] * channels));
    }
    for (std::int64_t n = 0; n < p.images; ++n) {
      for (std::int64_t r = 0; r < p.rows; ++r)
        index.push_back(static_cast<std::int32_t>(s.below(static_cast<std::uint32_t>(anchors))));
      index[static_cast<std::size_t>(n * p.rows)] = static_cast<std::int32_t>(anchors - 1);  // the last corner
      index[static_cast<std::size_t>(n * p.rows + 2)] = 0;                                   // the first one
      index[static_cast<std::size_t>(n * p.rows + 3)] = 1;                                   // another kind of it
      index[static_cast<std::size_t>(n * p.rows + 4)] = 3;                                   // its neighbour
      count.push_back(static_cast<std::int32_t>(n == 0 ? p.rows : p.rows - 6));
    }
    grad = uniform(s, p.images * p.rows * 9 * channels, -1, 1);
  }
  PatchRows rows() const { return {index.data(), count.data()}; }
  static std::vector<float> whole(Stream& s, std::int64_t n) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = static_cast<float>(s.below(9)) - 4;
    return v;
  }

  PatchParams p;
  std::vector<std::vector<float>> features;
  std::vector<float> grad;
  std::vector<std::int32_t> index, count;
};

}  // namespace ttt::kernels
