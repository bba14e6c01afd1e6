// Proposals from the RPN's outputs (Ren et al. 2015 over a pyramid).
#pragma once

#include "kernels/box_coder/box_coder.h"
#include "kernels/common/levels.h"

namespace ttt::kernels {

// Of each level the pre_nms highest logits, decoded and clipped, small boxes dropped, NMS per level, then the highest
// of all levels. On a device pre_nms is at most 4096.
struct ProposalParams {
  std::int64_t images = 0, anchors = 0;
  int levels = 5;
  std::int64_t level_start[kMaxLevels + 1];  // anchors of level l are [level_start[l], level_start[l+1])
  std::int64_t pre_nms = 2000;               // per level and image
  std::int64_t post_nms_per_level = 0;       // 0: no cut per level (torchvision)
  std::int64_t post_nms = 1000;              // rows of the output for each image
  bool cut_over_batch = false;  // post_nms_batch highest over all images together (MLPerf's reference in training)
  std::int64_t post_nms_batch = 0;
  float nms_threshold = 0.7f;
  float min_size = 1e-3f;  // sides below it are dropped
  BoxCoderParams coder;
};
struct ProposalsIn {
  const float* logits;             // [N, A]
  const float* deltas;             // [N, A, 4]
  const float* anchors;            // [A, 4]
  const std::int32_t* image_size;  // [N, 2] height, width
};
struct ProposalsOut {
  float* boxes;         // [N, post_nms, 4] in descending order of score, filler 0
  float* scores;        // [N, post_nms] logits
  std::int32_t* count;  // [N]
};

namespace host {
void proposals(const ProposalParams& p, const ProposalsIn& in, const ProposalsOut& out, ThreadPool* pool = nullptr);
}
namespace cuda {
std::size_t proposals_workspace(const ProposalParams& p);
void proposals(const ProposalParams& p, const ProposalsIn& in, const ProposalsOut& out, void* workspace,
               cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
