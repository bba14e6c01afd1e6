// A random subset of fixed size: positives, then negatives (torchvision's BalancedPositiveNegativeSampler).
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

// At most size * positive_fraction positives, then negatives up to `size`: those of smallest
// random_bits(seed, purpose, step, image_id, candidate).
struct SampleParams {
  std::int64_t images = 0, candidates = 0;
  std::int64_t size = 256;
  float positive_fraction = 0.5f;
  std::uint64_t purpose = 0;
};
struct SampleIn {
  const std::int64_t* key;       // [2] seed, step: read from memory, so that a replayed step draws anew
  const std::int32_t* matched;   // [N, A] as match() gives it
  const std::int64_t* image_id;  // [N]
};
struct SampleOut {
  std::int32_t* index;      // [N, size] candidates: positives ascending, negatives ascending, filler 0
  std::int32_t* positives;  // [N]
  std::int32_t* total;      // [N] positives and negatives
};

namespace host {
void sample(const SampleParams& p, const SampleIn& in, const SampleOut& out, ThreadPool* pool = nullptr);
}
namespace cuda {
std::size_t sample_workspace(const SampleParams& p);
void sample(const SampleParams& p, const SampleIn& in, const SampleOut& out, void* workspace, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
