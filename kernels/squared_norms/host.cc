#include <algorithm>
#include <cstddef>

#include "kernels/squared_norms/squared_norms.h"

namespace ttt::kernels::host {
namespace {

constexpr int kLanes = 32;
constexpr int kAtOnce = 8;  // lanes whose sums stay in registers

// The kernel's order: 32 lanes take every 32nd value each, and halve their number until one is left.
double sum_of_lanes(double* lane) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
  return lane[0];
}

template <class Value> double sum_of_squares(std::int64_t n, const Value& value) {
  double lane[kLanes];
  for (int first = 0; first < kLanes; first += kAtOnce) {
    double sum[kAtOnce] = {};
    const auto add = [&](std::int64_t i, int k) {
      const double v = value(i + k);
      sum[k] += v * v;
    };
    std::int64_t i = first;
    for (; i + kAtOnce <= n; i += kLanes)
      for (int k = 0; k < kAtOnce; ++k) add(i, k);
    for (int k = 0; k < kAtOnce && i + k < n; ++k) add(i, k);
    std::copy_n(sum, kAtOnce, lane + first);
  }
  return sum_of_lanes(lane);
}

}  // namespace

void squared_norms(
    const NormGroups& g, const float* gradient, const float* before, const float* after, SquaredNorms* out) {
  for (std::int64_t group = 0; group < g.groups; ++group) {
    double gradients[kLanes] = {}, weights[kLanes] = {}, changes[kLanes] = {};
    for (std::int64_t p = g.group_begin[group]; p < g.group_begin[group + 1]; ++p) {
      const NormPiece& piece = g.piece[p];
      const float* grad = gradient + piece.begin;
      const auto lane = static_cast<std::size_t>((p - g.group_begin[group]) % kLanes);
      gradients[lane] += sum_of_squares(piece.size, [&](std::int64_t i) { return static_cast<double>(grad[i]); });
      if (!after) continue;
      const float *old = before + piece.begin, *now = after + piece.begin;
      weights[lane] += sum_of_squares(piece.size, [&](std::int64_t i) { return static_cast<double>(now[i]); });
      changes[lane] += sum_of_squares(piece.size, [&](std::int64_t i) { return static_cast<double>(now[i]) - old[i]; });
    }
    out[group] = {
        .gradient = sum_of_lanes(gradients), .weight = sum_of_lanes(weights), .change = sum_of_lanes(changes)};
  }
}

}  // namespace ttt::kernels::host
