// Anchors or proposals matched to ground truth (Ren et al. 2015).
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

// In each image a candidate gets the index of the ground truth of highest IoU (first of equals) if that IoU is >= high,
// -1 (background) if it is < low, -2 (ignored) in between.
struct MatchParams {
  std::int64_t images = 0, candidates = 0, gt_capacity = 0;
  bool shared_candidates = false;  // candidates is [A, 4] for all images, else [N, A, 4]
  float high = 0.7f, low = 0.3f;
  // Every candidate tied for a ground truth's best IoU gets its own argmax back too (torchvision's and Detectron's
  // rule).
  bool allow_low_quality = false;
  bool legacy = false;
};
struct MatchIn {
  const float* gt;               // [N, gt_capacity, 4]
  const std::int32_t* gt_count;  // [N]
  const float* candidates;       // [N or 1, A, 4]
  const std::uint8_t* visible;   // [N, A] or null; 0: the result is -2 (straddling anchors)
};

// out: matched [N, A]
namespace host {
void match(const MatchParams& p, const MatchIn& in, std::int32_t* matched, ThreadPool* pool = nullptr);
}
namespace cuda {
std::size_t match_workspace(const MatchParams& p);
void match(const MatchParams& p, const MatchIn& in, std::int32_t* matched, void* workspace, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
