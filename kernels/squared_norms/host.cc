#include <cstddef>

#include "kernels/common/simd.h"
#include "kernels/squared_norms/squared_norms.h"

#define TTT_SIMD_BODY "kernels/squared_norms/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {

constexpr int kSums = 32;  // over a group's pieces

double sum_of(double* sum) {
  for (int half = kSums / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sum[k] += sum[k + half];
  return sum[0];
}

}  // namespace

void squared_norms(
    const NormGroups& g, const float* gradient, const float* before, const float* after, SquaredNorms* out) {
  const auto squares_of = TTT_PICK(best_isa(), squares);
  const auto differences_of = TTT_PICK(best_isa(), squared_differences);
  for (std::int64_t group = 0; group < g.groups; ++group) {
    double gradients[kSums] = {}, weights[kSums] = {}, changes[kSums] = {};
    for (std::int64_t p = g.group_begin[group]; p < g.group_begin[group + 1]; ++p) {
      const NormPiece& piece = g.piece[p];
      const auto at = static_cast<std::size_t>((p - g.group_begin[group]) % kSums);
      gradients[at] += squares_of(piece.size, gradient + piece.begin);
      if (!after) continue;
      weights[at] += squares_of(piece.size, after + piece.begin);
      if (before) changes[at] += differences_of(piece.size, after + piece.begin, before + piece.begin);
    }
    out[group] = {.gradient = sum_of(gradients), .weight = sum_of(weights), .change = sum_of(changes)};
  }
}

}  // namespace ttt::kernels::host
