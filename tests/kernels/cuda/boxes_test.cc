// CUDA kernels of NMS, proposals and detections against their reference implementations: to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/detections/detections.h"
#include "kernels/nms/nms.h"
#include "same_bits.h"
#include "tests/kernels/rpn.h"

namespace ttt::kernels {
namespace {

void expect_nms(const std::vector<float>& boxes, float threshold, bool legacy) {
  const std::int64_t n = std::ssize(boxes) / 4;
  std::vector<std::int32_t> want(n);
  want.resize(host::nms(n, boxes.data(), threshold, legacy, want.data()));
  under_all_schedules([&] {
    auto b = input(boxes, "boxes");
    auto keep = output<std::int32_t>(n, "keep"), count = output<std::int32_t>(1, "count");
    auto workspace = scratch(cuda::nms_workspace(n));
    cuda::nms(n, b.get(), threshold, legacy, keep.get(), count.get(), workspace.get(), nullptr);
    ASSERT_EQ(count[0], std::ssize(want));
    for (std::int64_t i = 0; i < count[0]; ++i) ASSERT_EQ(keep[i], want[i]) << i;
  });
}

TEST(Nms, ThresholdsAndTails_SameBits) {
  Stream s = stream(900);
  for (const std::int64_t n : {0, 1, 2, 63, 64, 65, 130, 300})
    for (const float threshold : {0.0f, 0.5f, 0.75f, 1.0f}) {
      std::vector<float> boxes;  // small integers: many overlaps are exactly the threshold
      for (std::int64_t i = 0; i < n; ++i) {
        const float x = static_cast<float>(s.below(24)), y = static_cast<float>(s.below(24));
        boxes.insert(boxes.end(),
                     {x, y, x + 1 + static_cast<float>(s.below(6)), y + 1 + static_cast<float>(s.below(6))});
      }
      if (n > 64) boxes[4 * 64] = kNan, boxes[9] = kInf;
      expect_nms(boxes, threshold, n % 2 == 0);
      if (HasFatalFailure()) return;
    }
}

TEST(Nms, MoreThan2048Boxes_SameBits) {  // a lane holds two words; few boxes touch
  Stream s = stream(901);
  expect_nms(boxes_in(s, 2500, 3000, 3000, 40), 0.3f, false);
  EXPECT_THROW(cuda::nms(4097, nullptr, 0.5f, false, nullptr, nullptr, nullptr, nullptr), UsageError);
  EXPECT_THROW(cuda::nms(5, nullptr, kNan, false, nullptr, nullptr, scratch(cuda::nms_workspace(5)).get(), nullptr),
               UsageError);
}

void expect_proposals(const Rpn& r) {
  const ProposalParams& p = r.p;
  std::vector<float> boxes(p.images * p.post_nms * 4), scores(p.images * p.post_nms);
  std::vector<std::int32_t> count(p.images);
  host::proposals(p, r.in(), {boxes.data(), scores.data(), count.data()});
  under_all_schedules([&] {
    auto logits = input(r.logits, "logits"), deltas = input(r.deltas, "deltas"), anchors = input(r.anchors, "anchors");
    auto size = input(r.size, "image_size");
    auto b = output<float>(std::ssize(boxes), "boxes"), s = output<float>(std::ssize(scores), "scores");
    auto c = output<std::int32_t>(p.images, "count");
    auto workspace = scratch(cuda::proposals_workspace(p));
    cuda::proposals(p, {logits.get(), deltas.get(), anchors.get(), size.get()}, {b.get(), s.get(), c.get()},
                    workspace.get(), nullptr);
    expect_same_bits(count, c, "count");
    expect_same_bits(scores, s, "scores");
    expect_same_bits(boxes, b, "boxes");
  });
}

TEST(Proposals, TiesAndNan_SameBits) {
  for (const bool legacy : {false, true})
    for (const bool ties : {false, true}) {
      Rpn r(2, {700, 250, 50}, ties);
      r.p.pre_nms = 300, r.p.post_nms = 120, r.p.coder.legacy = legacy, r.p.post_nms_per_level = legacy ? 50 : 0;
      r.logits[3] = r.logits[960] = kNan, r.logits[5] = kInf, r.logits[6] = -kInf, r.logits[8] = -0.0f,
      r.logits[9] = 0.0f;
      r.deltas[40] = kNan, r.deltas[4 * 400 + 2] = kNan, r.deltas[4 * 500 + 2] = kInf;
      expect_proposals(r);
      if (HasFatalFailure()) return;
    }
}

TEST(Proposals, EqualScores_OrderedByAnchor) {
  Rpn r(1, {3000, 1}, false);
  std::fill(r.logits.begin(), r.logits.end(), 1.25f);
  r.p.pre_nms = 100, r.p.post_nms = 150;
  expect_proposals(r);
}

TEST(Proposals, AllNan_GivesNone) {
  Rpn r(2, {40, 20}, false);
  r.p.pre_nms = 30, r.p.post_nms = 10;
  std::fill(r.logits.begin(), r.logits.begin() + 60, kNan);  // of one image
  expect_proposals(r);
  r.p.min_size = 1000;  // all boxes are too small
  expect_proposals(r);
}

TEST(Proposals, CutOverBatch_SameBits) {
  for (const auto& [most, ties] :
       {std::pair{1, true}, std::pair{40, false}, std::pair{100, true}, std::pair{100000, false}}) {
    Rpn r(3, {200, 60, 20}, ties);
    r.p.pre_nms = 100, r.p.post_nms = 80, r.p.cut_over_batch = true, r.p.post_nms_batch = most, r.p.coder.legacy = true;
    r.p.post_nms_per_level = most == 40 ? 20 : 0;
    expect_proposals(r);
    if (HasFatalFailure()) return;
  }
}

// The anchors of mlperf and torchvision (800 x 1344: 201600, 50400, 12600, 3150, 819) and of the default recipe, scaled
// down.
TEST(Proposals, ScaledDownRecipes_SameBits) {
  for (const auto& [levels, batch_cut, legacy] :
       {std::tuple{std::vector<std::int64_t>{3150, 819, 231, 63, 18}, true, true},
        std::tuple{std::vector<std::int64_t>{3150, 819, 231, 63, 18}, false, false},
        std::tuple{std::vector<std::int64_t>{768, 192, 48, 12}, false, false}}) {
    Rpn r(batch_cut ? 2 : 1, levels, false);
    r.p.pre_nms = 250, r.p.post_nms = 125, r.p.coder.legacy = legacy, r.p.min_size = legacy ? 0.0f : 1e-3f;
    if (batch_cut)
      r.p.cut_over_batch = true, r.p.post_nms_batch = 200, r.p.post_nms_per_level = 250, r.p.post_nms = 200;
    expect_proposals(r);
    if (HasFatalFailure()) return;
  }
}

TEST(Proposals, ContradictoryLevels_Refused) {
  Rpn r(1, {40}, false);
  r.p.anchors = 41;
  EXPECT_THROW(cuda::proposals(r.p, {}, {}, nullptr, nullptr), UsageError);
}

struct Head {
  explicit Head(const DetectionParams& params) : p(params) {
    Stream s = stream(930 + static_cast<std::uint64_t>(p.rois));
    probabilities = uniform(s, p.images * p.rois * p.classes, 0, 1);
    for (std::size_t i = 0; i < probabilities.size(); i += 3) probabilities[i] = std::round(probabilities[i] * 8) / 8;
    for (std::size_t i = 0; i < probabilities.size(); i += 17) probabilities[i] = kNan;
    deltas = uniform(s, p.images * p.rois * p.classes * 4, -1, 1), rois = boxes_in(s, p.images * p.rois, 200, 200);
    for (std::int64_t n = 0; n < p.images; ++n) {
      count.push_back(static_cast<std::int32_t>(n == 1 ? 0 : p.rois - 3 * n + (n == 0 ? 5 : 0)));
      size.insert(size.end(), {200 - static_cast<int>(n), 150});
    }
  }
  DetectionParams p;
  std::vector<float> probabilities, deltas, rois;
  std::vector<std::int32_t> count, size;
};

TEST(Detections, AllShapes_SameBits) {
  for (const auto& [rois, classes, detections, threshold] :
       {std::tuple{60, 7, 30, 0.05f}, std::tuple{300, 3, 100, 0.3f}, std::tuple{12, 81, 500, 0.5f},
        std::tuple{5, 2, 1, 2.0f}}) {
    SCOPED_TRACE(rois);
    const Head h({.images = 3,
                  .rois = rois,
                  .classes = classes,
                  .score_threshold = threshold,
                  .detections = detections,
                  .coder = {.wx = 10, .wy = 10, .ww = 5, .wh = 5, .legacy = classes == 7}});
    const std::int64_t rows = 3 * h.p.detections;
    std::vector<float> boxes(4 * rows), score(rows);
    std::vector<std::int32_t> label(rows), count(3);
    host::detections(h.p, {h.probabilities.data(), h.deltas.data(), h.rois.data(), h.count.data(), h.size.data()},
                     {boxes.data(), score.data(), label.data(), count.data()});
    under_all_schedules([&] {
      auto probabilities = input(h.probabilities, "probabilities"), deltas = input(h.deltas, "deltas"),
           boxes_in = input(h.rois, "rois");
      auto roi_count = input(h.count, "roi_count"), size = input(h.size, "image_size");
      auto b = output<float>(4 * rows, "boxes"), s = output<float>(rows, "score");
      auto l = output<std::int32_t>(rows, "label"), c = output<std::int32_t>(3, "count");
      auto workspace = scratch(cuda::detections_workspace(h.p));
      cuda::detections(h.p, {probabilities.get(), deltas.get(), boxes_in.get(), roi_count.get(), size.get()},
                       {b.get(), s.get(), l.get(), c.get()}, workspace.get(), nullptr);
      expect_same_bits(count, c, "count");
      expect_same_bits(score, s, "score");
      expect_same_bits(label, l, "label");
      expect_same_bits(boxes, b, "boxes");
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ttt::kernels
