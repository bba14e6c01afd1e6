// Mask targets, pasting, refused parameters and the thread pool.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "guarded.h"
#include "inputs.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/match/match.h"
#include "kernels/nms/nms.h"
#include "kernels/paste/paste.h"
#include "kernels/proposals/proposals.h"
#include "kernels/roi_align/roi_align.h"
#include "kernels/sample/sample.h"

namespace ttt::kernels {
namespace {

TEST(MaskTargets, Rectangles_OnesHalvesAndFiller) {
  // A rectangle that fills the RoI: all ones. Half of it: a step whose border column averages to one half.
  const std::vector<std::uint8_t> bits(40 * 40, 1);
  const std::int64_t offset[] = {0, 0};
  const std::int32_t box[] = {10, 10, 40, 40, 10, 10, 20, 40}, object[] = {0, -1, 1};
  std::vector<std::uint8_t> half(20 * 40, 1);
  const float rois[] = {12, 12, 40, 40, 12, 12, 40, 40, 12, 12, 40, 40};
  const std::int32_t extent[] = {100, 100, 100};
  const BitmapTargetsIn in{bits.data(), offset, box, object, rois, extent, extent};
  for (int threads = 1; threads <= 3; ++threads) {
    ThreadPool pool(threads);
    Guarded<float> out(3 * 784);
    host::mask_targets_bitmap({.rois = 3, .size = 28}, in, out.get(), &pool);
    for (int i = 0; i < 784; ++i) {
      ASSERT_EQ(out[i], 1.0f);
      ASSERT_EQ(out[784 + i], 0.0f);
      // One sample per bin, at 12.5 + column: pixel 29 is the last one set, so the sample at 29.5 is half inside.
      ASSERT_EQ(out[1568 + i], i % 28 < 17 ? 1.0f : (i % 28 == 17 ? 0.5f : 0.0f)) << i;
    }
  }
  Guarded<float> none(0);
  host::mask_targets_bitmap({.rois = 0, .size = 28}, in, none.get());
}

TEST(MaskTargets, PolygonOutsideOrNanRoi_Empty) {
  const float vertices[] = {10, 10, 20, 10, 20, 20, 10, 20, 30, 30, 40, 40};
  const std::int32_t object_polygon[] = {0, 1, 2}, polygon_vertex[] = {0, 4, 6}, object[] = {0, 0, 1, 0, -1};
  const float rois[] = {10, 10, 20, 20, 100, 100, 120, 120, 30, 30, 40, 40, kNan, 10, 20, 20, 10, 10, 20, 20};
  Guarded<float> out(5 * 784);
  host::mask_targets_polygon(
      {.rois = 5, .size = 28}, {object_polygon, polygon_vertex, vertices}, object, rois, out.get());
  EXPECT_EQ(std::accumulate(out.get(), out.get() + 784, 0.0f),
      784.0f);  // COCO's rule on a square at the grid's corners
  for (int i = 784; i < 5 * 784; ++i) ASSERT_EQ(out[i], 0.0f) << i;
}

TEST(PasteMask, SmallBufferOrNanBox_Refused) {
  const std::vector<float> mask(784, 1.0f);
  const float box[] = {10, 10, 50, 50}, bad[] = {0, kNan, 1, 1};
  std::int32_t touched[4];
  Guarded<std::uint8_t> bits(100);
  EXPECT_THROW(host::paste_mask(28, mask.data(), box, 100, 100, touched, bits.get(), bits.size()), UsageError);
  EXPECT_THROW(host::paste_mask(28, mask.data(), bad, 100, 100, touched, bits.get(), bits.size()), UsageError);
  host::paste_mask(28, mask.data(), box, 5, 5, touched, bits.get(), bits.size());  // wholly outside
  EXPECT_EQ(touched[2] * touched[3], 0);
}

TEST(Parameters, Contradictions_Refused) {
  float f[4] = {};
  std::int32_t i[4] = {};
  RoiAlignParams roi;
  roi.levels = 0;
  EXPECT_THROW(host::roi_align_forward(roi, nullptr, f, i, f), UsageError);
  const MatchIn in{f, i, f, nullptr};
  EXPECT_THROW(
      host::match({.images = 1, .candidates = 1, .gt_capacity = 1, .high = 0.3f, .low = 0.7f}, in, i), UsageError);
  i[0] = 2;
  EXPECT_THROW(host::match({.images = 1, .candidates = 1, .gt_capacity = 1}, in, i), UsageError);
  EXPECT_THROW(host::sample({.positive_fraction = 1.5f}, {}, {}), UsageError);
  EXPECT_THROW(host::nms(1, f, kNan, false, i), UsageError);
  ProposalParams p;
  p.levels = 1, p.level_start[0] = 0, p.level_start[1] = 5, p.anchors = 6;
  EXPECT_THROW(host::proposals(p, {}, {}), UsageError);
}

TEST(ThreadPool, ParallelFor_RunsOnceRethrowsFirst) {
  ThreadPool pool(3);
  for (const std::int64_t n : {0, 1, 2, 1000}) {
    std::vector<int> seen(n);
    parallel_for(&pool, n, [&](std::int64_t i) { ++seen[i]; });
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), n);
  }
  EXPECT_THROW(parallel_for(&pool, 100,
                   [](std::int64_t i) {
                     if (i == 50) throw UsageError("x");
                   }),
      UsageError);
  int sum = 0;
  parallel_ranges(nullptr, 10, 4, [&](std::int64_t b, std::int64_t e) { sum += static_cast<int>((e - b) * 100 + b); });
  EXPECT_EQ(sum, 1012);
}

}  // namespace
}  // namespace ttt::kernels
