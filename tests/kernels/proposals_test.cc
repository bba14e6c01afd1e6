// Box coding, NMS, proposals and detections: their definitions, ties, NaN, empty input, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "guarded.h"
#include "kernels/common/box_math.h"
#include "kernels/detections/detections.h"
#include "kernels/nms/nms.h"
#include "rpn.h"
namespace ttt::kernels {
namespace {

TEST(BoxCoder, DecodeAfterEncode_GivesTheBox) {
  Stream s = stream(6);
  const std::vector<float> gt = boxes_in(s, 200, 500, 500), ref = boxes_in(s, 200, 500, 500);
  for (const bool legacy : {false, true}) {
    const BoxCoderParams p{.wx = 10, .wy = 10, .ww = 5, .wh = 5, .clamp = 20, .legacy = legacy};
    std::vector<float> delta(800), back(800);
    host::encode_boxes(p, 200, gt.data(), ref.data(), delta.data());
    host::decode_boxes(p, 200, delta.data(), ref.data(), back.data());
    // |dx| < 1000 in units of a side of at least 1: some units of roundoff of a 500-pixel coordinate each way.
    for (int i = 0; i < 800; ++i) ASSERT_NEAR(back[i], gt[i], 16 * 500 * 0x1p-24) << i;
  }
}

// The definition of greedy NMS, in O(n^2).
std::vector<std::int32_t> slow_nms(const std::vector<float>& boxes, float threshold, float extra) {
  std::vector<std::int32_t> keep;
  for (std::int32_t i = 0; i < std::ssize(boxes) / 4; ++i)
    if (std::none_of(
            keep.begin(), keep.end(), [&](int k) { return box_iou(&boxes[4 * k], &boxes[4 * i], extra) > threshold; }))
      keep.push_back(i);
  return keep;
}

TEST(Nms, IouAtThreshold_EqualsDefinition) {
  Stream s = stream(8);
  for (const bool legacy : {false, true}) {
    for (const float threshold : {0.0f, 1.0f / 3, 0.5f, 0.75f, 1.0f}) {
      std::vector<float> boxes;  // small integers: many IoUs are exactly the threshold
      for (int i = 0; i < 700; ++i) {
        const float x = s.below(10), y = s.below(10);
        boxes.insert(boxes.end(), {x, y, x + 1 + s.below(6), y + 1 + s.below(6)});
      }
      Guarded<std::int32_t> keep(700);
      const std::int64_t n = host::nms(700, boxes.data(), threshold, legacy, keep.get());
      const std::vector<std::int32_t> expected = slow_nms(boxes, threshold, legacy ? 1.0f : 0.0f);
      ASSERT_EQ(n, std::ssize(expected));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), keep.get()));
    }
  }
}

// 1000 anchors on three levels.
Rpn small_rpn(std::int64_t images, bool ties) {
  Rpn r(images, {700, 250, 50}, ties);
  r.p.pre_nms = 300, r.p.post_nms = 120;
  return r;
}

void run(const Rpn& r, Guarded<float>& boxes, Guarded<float>& scores, Guarded<std::int32_t>& count,
    ThreadPool* pool = nullptr) {
  host::proposals(r.p, r.in(), {boxes.get(), scores.get(), count.get()}, pool);
}

// The definition for one image: sort, decode, clip, drop, suppress, merge; ties by the lower anchor.
std::vector<std::pair<float, std::array<float, 4>>> slow_proposals(const Rpn& r, std::int64_t n) {
  std::vector<std::pair<std::pair<float, int>, std::array<float, 4>>> all;
  const float extra = r.p.coder.legacy ? 1.0f : 0.0f;
  for (int l = 0; l < 3; ++l) {
    std::vector<int> order(r.p.level_start[l + 1] - r.p.level_start[l]);
    std::iota(order.begin(), order.end(), static_cast<int>(r.p.level_start[l]));
    const float* logit = r.logits.data() + n * 1000;
    std::erase_if(order, [&](int a) { return std::isnan(logit[a]); });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logit[a] > logit[b]; });
    if (std::ssize(order) > r.p.pre_nms) order.resize(r.p.pre_nms);
    std::vector<float> boxes;
    std::vector<int> anchors;
    for (const int a : order) {
      std::array<float, 4> box;
      decode_box(r.p.coder, &r.deltas[(n * 1000 + a) * 4], &r.anchors[4 * a], box.data());
      clip_box(box.data(), r.size[2 * n], r.size[2 * n + 1], extra);
      if (!box_is_large(box.data(), r.p.min_size, extra)) continue;
      boxes.insert(boxes.end(), box.begin(), box.end()), anchors.push_back(a);
    }
    std::int64_t kept = 0;
    for (const int k : slow_nms(boxes, r.p.nms_threshold, extra)) {
      if (r.p.post_nms_per_level > 0 && kept++ >= r.p.post_nms_per_level) break;
      all.push_back(
          {{-logit[anchors[k]], anchors[k]}, {boxes[4 * k], boxes[4 * k + 1], boxes[4 * k + 2], boxes[4 * k + 3]}});
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<std::pair<float, std::array<float, 4>>> out;
  for (const auto& [key, box] : all) out.push_back({-key.first, box});
  return out;
}

TEST(Proposals, TiesAndNan_EqualDefinition) {
  for (const bool legacy : {false, true}) {
    for (const bool ties : {false, true}) {
      Rpn r = small_rpn(2, ties);
      r.p.coder.legacy = legacy, r.p.post_nms_per_level = legacy ? 50 : 0;
      r.logits[3] = r.logits[960] = kNan, r.deltas[40] = kNan, r.deltas[4 * 400 + 2] = kNan,
      r.deltas[4 * 500 + 2] = kInf;
      Guarded<float> boxes(2 * 120 * 4), scores(2 * 120);
      Guarded<std::int32_t> count(2);
      run(r, boxes, scores, count);
      for (int n = 0; n < 2; ++n) {
        const auto expected = slow_proposals(r, n);
        ASSERT_EQ(count[n], std::min<std::int64_t>(120, expected.size()));
        ASSERT_GT(count[n], 50);
        for (int i = 0; i < 120; ++i) {
          ASSERT_EQ(scores[n * 120 + i], i < count[n] ? expected[i].first : 0.0f) << i;
          for (int k = 0; k < 4; ++k)
            ASSERT_EQ(boxes[(n * 120 + i) * 4 + k], i < count[n] ? expected[i].second[k] : 0.0f) << i;
        }
      }
    }
  }
}

TEST(Proposals, CutOverBatch_KeepsBest) {
  Rpn r = small_rpn(3, true);
  r.p.cut_over_batch = true, r.p.post_nms_batch = 100, r.p.post_nms = 100, r.p.coder.legacy = true;
  Guarded<float> boxes(3 * 100 * 4), scores(3 * 100);
  Guarded<std::int32_t> count(3);
  run(r, boxes, scores, count);
  std::vector<std::pair<float, int>> all;  // score, image
  for (int n = 0; n < 3; ++n)
    for (const auto& [score, box] : slow_proposals(r, n)) all.push_back({-score, n});
  std::stable_sort(all.begin(), all.end());
  std::array<int, 3> expected{};
  for (int i = 0; i < 100; ++i) ++expected[all[i].second];
  for (int n = 0; n < 3; ++n) EXPECT_EQ(count[n], expected[n]);
}

TEST(Proposals, AllNan_GivesNone) {
  Rpn r = small_rpn(4, true);
  Guarded<float> boxes(4 * 120 * 4), scores(4 * 120);
  Guarded<std::int32_t> count(4);
  run(r, boxes, scores, count);
  for (int threads = 2; threads <= 3; ++threads) {
    ThreadPool pool(threads);
    Guarded<float> b(4 * 120 * 4), s(4 * 120);
    Guarded<std::int32_t> c(4);
    run(r, b, s, c, &pool);
    EXPECT_TRUE(boxes.same(b) && scores.same(s) && count.same(c));
  }
  std::fill(r.logits.begin(), r.logits.end(), kNan);
  run(r, boxes, scores, count);
  for (int n = 0; n < 4; ++n) EXPECT_EQ(count[n], 0);
  for (std::int64_t i = 0; i < boxes.size(); ++i) ASSERT_EQ(boxes[i], 0.0f);
}

TEST(Detections, Ties_LowerRoiThenLowerClass) {
  // Two far RoIs, three classes, all scores equal; decoded boxes are the RoIs.
  const float probabilities[] = {0.2f, 0.4f, 0.4f, 0.2f, 0.4f, 0.4f}, rois[] = {0, 0, 9, 9, 50, 50, 80, 80};
  const std::vector<float> deltas(2 * 3 * 4, 0.0f);
  const std::int32_t roi_count[] = {2}, size[] = {100, 100};
  DetectionParams p{.images = 1, .rois = 2, .classes = 3, .detections = 3};
  Guarded<float> boxes(12), scores(3);
  Guarded<std::int32_t> labels(3), count(1);
  const DetectionsIn in{probabilities, deltas.data(), rois, roi_count, size};
  const DetectionsOut out{boxes.get(), scores.get(), labels.get(), count.get()};
  host::detections(p, in, out);
  EXPECT_EQ(count[0], 3);
  EXPECT_EQ((std::array{labels[0], labels[1], labels[2]}), (std::array{1, 2, 1}));
  EXPECT_EQ(boxes[0], 0.0f);
  EXPECT_EQ(boxes[8], 50.0f);
  p.score_threshold = 0.4f;  // only what is above it counts
  host::detections(p, in, out);
  EXPECT_EQ(count[0], 0);
  EXPECT_EQ(labels[0], 0);
  EXPECT_EQ(boxes[8], 0.0f);
}

TEST(Detections, AnyThreads_SameBits) {
  Stream s = stream(13);
  const DetectionParams p{
      .images = 3, .rois = 50, .classes = 9, .detections = 30, .coder = {.wx = 10, .wy = 10, .ww = 5, .wh = 5}};
  std::vector<float> probabilities = uniform(s, 3 * 50 * 9, 0, 1);
  for (std::size_t i = 0; i < probabilities.size(); i += 17) probabilities[i] = kNan;
  const std::vector<float> deltas = uniform(s, 3 * 50 * 9 * 4, -1, 1), rois = boxes_in(s, 150, 200, 200);
  const std::int32_t roi_count[] = {50, 0, 31}, size[] = {200, 200, 100, 100, 150, 200};
  std::vector<std::unique_ptr<Guarded<float>>> all;
  Guarded<std::int32_t> labels(90), count(3);
  for (int threads = 1; threads <= 3; ++threads) {
    ThreadPool pool(threads);
    all.push_back(std::make_unique<Guarded<float>>(90 * 5));
    Guarded<std::int32_t> l(90), c(3);
    host::detections(p, {probabilities.data(), deltas.data(), rois.data(), roi_count, size},
        {all.back()->get(), all.back()->get() + 360, l.get(), c.get()}, &pool);
    EXPECT_EQ(c[1], 0);
    EXPECT_GT(c[0], 0);
    EXPECT_TRUE(all.front()->same(*all.back()));
  }
}

}  // namespace
}  // namespace ttt::kernels
