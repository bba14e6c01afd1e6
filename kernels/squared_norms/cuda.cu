// Sums of squares by groups of layers: telemetry without a copy of the parameters to the host.
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/squared_norms/squared_norms.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ double warp_sum(double value) {
  for (unsigned half = 16; half > 0; half /= 2) value += __shfl_down_sync(kAllLanes, value, half);
  return value;  // of lane 0
}

// By all lanes of a warp.
__device__ void write_sums(SquaredNorms sums, SquaredNorms* out) {
  sums = {warp_sum(sums.gradient), warp_sum(sums.weight), warp_sum(sums.change)};
  if (threadIdx.x % 32 == 0) *out = sums;
}

// A warp per piece. Squares of floats are exact in double precision; only sums and differences round.
__global__ void __launch_bounds__(kThreads) sum_pieces(std::int64_t pieces, const NormPiece* piece,
    const float* gradient, const float* before, const float* after, SquaredNorms* partial) {
  const std::int64_t p = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (p >= pieces) return;
  SquaredNorms sums{};
  const std::int64_t end = piece[p].begin + piece[p].size;
  for (std::int64_t i = piece[p].begin + threadIdx.x % 32; i < end; i += 32) {
    const double g = gradient[i];
    sums.gradient += g * g;
    if (!after) continue;
    const double w = after[i];
    sums.weight += w * w;
    if (!before) continue;
    const double d = w - before[i];
    sums.change += d * d;
  }
  write_sums(sums, partial + p);
}

// A block, of one warp, per group.
__global__ void __launch_bounds__(32)
    sum_groups(const std::int64_t* group_begin, const SquaredNorms* partial, SquaredNorms* out) {
  SquaredNorms sums{};
  for (std::int64_t p = group_begin[blockIdx.x] + threadIdx.x; p < group_begin[blockIdx.x + 1]; p += 32)
    sums.gradient += partial[p].gradient, sums.weight += partial[p].weight, sums.change += partial[p].change;
  write_sums(sums, out + blockIdx.x);
}

}  // namespace

void squared_norms(const NormGroups& g, const float* gradient, const float* before, const float* after,
    SquaredNorms* partial, SquaredNorms* out, cudaStream_t stream) {
  launch("sum_pieces", sum_pieces, {.x = blocks_for(g.pieces, kWarps), .threads = kThreads}, stream, g.pieces, g.piece,
      gradient, before, after, partial);
  launch("sum_groups", sum_groups, {.x = g.groups, .threads = 32}, stream, g.group_begin, partial, out);
}

}  // namespace ttt::kernels::cuda
