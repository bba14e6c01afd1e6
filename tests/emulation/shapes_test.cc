// Every launch of the recipes' full shapes, noted and not executed, against what the devices take.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backend.h"
#include "core/error.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/detection.h"

namespace ttt::kernels {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; shared memory: without opting in to more.
struct Device {
  int capability;
  std::int64_t grid_x, grid_yz, threads, shared;
};
constexpr Device kDevices[] = {{80, 2147483647, 65535, 1024, 49152}, {90, 2147483647, 65535, 1024, 49152}, {100, 2147483647, 65535, 1024, 49152}};

struct Recipe {
  std::string name;
  std::int64_t height, width, levels, per_pixel;  // anchors for each pixel of P2
  std::int64_t pre_nms, post_nms, post_nms_batch, rpn_sample, roi_sample, channels, gt, classes, test_rois;
  bool legacy;
};
const Recipe kRecipes[] = {{"mlperf", 800, 1344, 5, 3, 2000, 4000, 4000, 256, 512, 256, 100, 81, 1000, true},
                           {"mlperf, upright", 1344, 800, 5, 3, 2000, 4000, 4000, 256, 512, 256, 100, 81, 1000, true},
                           {"torchvision", 1344, 1344, 5, 3, 2000, 2000, 0, 256, 512, 256, 100, 91, 1000, false},
                           {"default", 128, 128, 5, 3, 1000, 500, 0, 64, 64, 64, 20, 7, 300, false}};

ProposalParams proposals_of(const Recipe& r, std::int64_t images) {
  ProposalParams p;
  p.images = images, p.levels = static_cast<int>(r.levels), p.pre_nms = r.pre_nms, p.post_nms = r.post_nms, p.coder.legacy = r.legacy;
  p.cut_over_batch = r.post_nms_batch > 0, p.post_nms_batch = r.post_nms_batch;
  for (int l = 0; l < p.levels; ++l) {
    const std::int64_t stride = std::int64_t{4} << l;
    p.level_start[l] = p.anchors;
    p.anchors += (r.height + stride - 1) / stride * ((r.width + stride - 1) / stride) * r.per_pixel;
  }
  p.level_start[p.levels] = p.anchors;
  return p;
}

RoiAlignParams roi_align_of(const Recipe& r, std::int64_t rois, std::int64_t images, int pooled, int ratio) {
  RoiAlignParams p;
  p.levels = 4, p.images = images, p.channels = r.channels, p.rois = rois, p.pooled = pooled, p.sampling_ratio = ratio;
  for (int l = 0; l < 4; ++l) p.height[l] = (r.height + (4 << l) - 1) / (4 << l), p.width[l] = (r.width + (4 << l) - 1) / (4 << l), p.scale[l] = 0.25f / static_cast<float>(1 << l);
  return p;
}

// Launches of a training step and of an evaluation.
std::vector<emulation::Launch> launches_of(const Recipe& r, std::int64_t images) {
  std::vector<emulation::Launch> all;
  emulation::record_launches(&all);
  const ProposalParams rpn = proposals_of(r, images);
  cuda::proposals(rpn, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  const MatchParams anchors{.images = images, .candidates = rpn.anchors, .gt_capacity = r.gt, .shared_candidates = true, .allow_low_quality = true};
  const MatchParams rois{.images = images, .candidates = r.post_nms + r.gt, .gt_capacity = r.gt, .high = 0.5f, .low = 0.5f};
  for (const MatchParams& p : {anchors, rois}) cuda::match(p, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::sample({.images = images, .candidates = rpn.anchors, .size = r.rpn_sample}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::sample({.images = images, .candidates = r.post_nms + r.gt, .size = r.roi_sample, .positive_fraction = 0.25f}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::encode_boxes({}, images * r.roi_sample, nullptr, nullptr, nullptr, nullptr);
  const float* features[4] = {};
  float* gradients[4] = {};
  for (const int ratio : {2, 0})
    for (const int pooled : {7, 14}) {
      const RoiAlignParams p = roi_align_of(r, images * r.roi_sample, images, pooled, ratio);
      cuda::roi_align_forward<float>(p, features, nullptr, nullptr, nullptr, nullptr);
      cuda::roi_align_backward<float>(p, nullptr, nullptr, nullptr, gradients, nullptr, nullptr);
    }
  const BatchNormParams stem{.rows = images * r.height / 2 * (r.width / 2), .channels = 64}, stage{.rows = images * r.height / 4 * (r.width / 4), .channels = 256};
  for (const BatchNormParams& p : {stem, stage}) {
    cuda::scale_offset_relu<float>(p, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    cuda::scale_offset_relu<Bfloat16>(p, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  const MaskTargetParams masks{.rois = images * r.roi_sample / 4, .size = 28};
  cuda::mask_targets_bitmap(masks, std::max(r.height, r.width), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::mask_targets_polygon(masks, {}, nullptr, nullptr, nullptr, nullptr);
  cuda::detections({.images = images, .rois = r.test_rois, .classes = r.classes}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::count_mask_changes({.masks = 100 * images}, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::write_mask_changes({.masks = 100 * images}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  cuda::place_images({.images = images, .height = r.height, .width = r.width}, {}, nullptr, nullptr, nullptr);
  cuda::sgd(0.9f, nullptr, 180, 12544 * 1024, {}, nullptr);
  cuda::find_nonfinite(nullptr, 180, 12544 * 1024, nullptr, nullptr);
  cuda::squared_norms({.piece = nullptr, .group_begin = nullptr, .pieces = 45'000'000 / kNormPiece, .groups = 10}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  emulation::record_launches(nullptr);
  return all;
}

// The most static shared memory of a kernel (RESOURCES.tsv: kernel, architecture, registers, stack, spilled, shared). No launch here needs to know
// which kernel it belongs to: with the most of all beside its own dynamic part it must fit.
std::int64_t most_static_shared() {
  std::ifstream in(TTT_RESOURCES);
  std::int64_t most = 0, rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kernel, architecture;
    std::int64_t registers = 0, stack = 0, spilled = 0, shared = 0;
    if (words >> kernel >> architecture >> registers >> stack >> spilled >> shared) most = std::max(most, shared), ++rows;
  }
  EXPECT_GT(rows, 40) << TTT_RESOURCES;
  return most;
}

TEST(Shapes, EveryLaunchOfTheRecipesFitsTheDevices) {
  const std::int64_t statics = most_static_shared();
  EXPECT_EQ(proposals_of(kRecipes[0], 1).anchors, 268569);
  for (const Recipe& r : kRecipes)
    for (std::int64_t images = 1; images <= 24; ++images) {
      SCOPED_TRACE(testing::Message() << r.name << ", " << images << " images");
      const std::vector<emulation::Launch> all = launches_of(r, images);
      ASSERT_EQ(all.size(), 43u);
      for (const emulation::Launch& l : all)
        for (const Device& d : kDevices) {
          ASSERT_TRUE(l.grid.x <= d.grid_x && l.grid.y <= d.grid_yz && l.grid.z <= d.grid_yz) << d.capability;
          ASSERT_TRUE(l.block.volume() <= d.threads && l.block.volume() >= 1) << d.capability;
          ASSERT_LE(static_cast<std::int64_t>(l.shared) + statics, d.shared) << d.capability;
        }
    }
}

TEST(Shapes, MoreProposalsThanTheKernelsHoldAreRefused) {
  ProposalParams p;
  p.images = 1, p.levels = 1, p.anchors = p.level_start[1] = p.pre_nms = 5000;
  std::vector<emulation::Launch> launches;
  emulation::record_launches(&launches);
  EXPECT_THROW(cuda::proposals(p, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), UsageError);
  emulation::record_launches(nullptr);
}

// Scratch memory stays small beside the features: 91 MB an image for P2 .. P5 of mlperf.
TEST(Shapes, Workspaces) {
  const ProposalParams p = proposals_of(kRecipes[0], 24);
  EXPECT_LT(cuda::proposals_workspace(p), std::size_t{100} << 20);
  EXPECT_LT(cuda::detections_workspace({.images = 24, .rois = 1000, .classes = 81}), std::size_t{80} << 20);
  EXPECT_LT(cuda::sample_workspace({.images = 24, .candidates = p.anchors, .size = 512}), std::size_t{2} << 20);
}

}  // namespace
}  // namespace ttt::kernels
