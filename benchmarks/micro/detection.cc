// Matching, sampling, proposals, detections, masks and SGD on the host, one thread. Argument 0: the small recipe's
// shapes (images of 128 x 128), 1: MLPerf's (800 x 1344).
// links: ttt_kernels_host
#include "kernels/host/detection.h"

#include <benchmark/benchmark.h>

#include <algorithm>

#include "kernel_inputs.h"

namespace ttt::kernels {
namespace {

struct Setting {
  std::int64_t images, height, width, pre_nms, post_nms, classes, rois, detections;
};
constexpr Setting kSettings[] = {{4, 128, 128, 400, 100, 7, 50, 20}, {2, 800, 1344, 2000, 1000, 81, 1000, 100}};

struct Rpn {
  explicit Rpn(const Setting& s) : anchors(pyramid_anchors(s.height, s.width)), n(std::ssize(anchors.boxes) / 4) {
    gt = random_boxes(1, s.images * 20, s.height, s.width, 12);
    count.assign(s.images, 10);
    logits = random_values(2, s.images * n, -4, 4);
    deltas = random_values(3, s.images * n * 4, -0.3, 0.3);
    for (std::int64_t i = 0; i < s.images; ++i)
      size.insert(size.end(), {std::int32_t(s.height), std::int32_t(s.width)});
  }
  Anchors anchors;
  std::int64_t n;
  Values gt, logits, deltas;
  std::vector<std::int32_t> count, size;
};

void match(benchmark::State& state) {
  const Setting& s = kSettings[state.range(0)];
  const Rpn r(s);
  const MatchParams p{
      .images = s.images, .candidates = r.n, .gt_capacity = 20, .shared_candidates = true, .allow_low_quality = true};
  std::vector<std::int32_t> matched(s.images * r.n);
  for (auto _ : state) {
    host::match(p, r.gt.data(), r.count.data(), r.anchors.boxes.data(), nullptr, matched.data());
    benchmark::ClobberMemory();
  }
}

void sample(benchmark::State& state) {
  const Setting& s = kSettings[state.range(0)];
  const Rpn r(s);
  const MatchParams m{
      .images = s.images, .candidates = r.n, .gt_capacity = 20, .shared_candidates = true, .allow_low_quality = true};
  std::vector<std::int32_t> matched(s.images * r.n), index(s.images * 256), positives(s.images), total(s.images);
  host::match(m, r.gt.data(), r.count.data(), r.anchors.boxes.data(), nullptr, matched.data());
  const std::vector<std::int64_t> id(s.images, 7);
  SampleParams p{.images = s.images, .candidates = r.n, .size = state.range(0) ? 256 : 64};
  for (auto _ : state) {
    ++p.step;
    host::sample(p, matched.data(), id.data(), index.data(), positives.data(), total.data());
    benchmark::ClobberMemory();
  }
}

void proposals(benchmark::State& state) {
  const Setting& s = kSettings[state.range(0)];
  const Rpn r(s);
  ProposalParams p;
  p.images = s.images, p.anchors = r.n, p.levels = 5, p.pre_nms = s.pre_nms, p.post_nms = s.post_nms;
  std::copy(r.anchors.level_start.begin(), r.anchors.level_start.end(), p.level_start);
  Values boxes(s.images * s.post_nms * 4), scores(s.images * s.post_nms);
  std::vector<std::int32_t> count(s.images);
  for (auto _ : state) {
    host::proposals(p, r.logits.data(), r.deltas.data(), r.anchors.boxes.data(), r.size.data(), boxes.data(),
                    scores.data(), count.data());
    benchmark::ClobberMemory();
  }
  state.counters["kept"] = count[0];
}

void nms(benchmark::State& state) {
  const Values boxes = random_boxes(4, state.range(0), 800, 1344, 100);
  std::vector<std::int32_t> keep(state.range(0));
  std::int64_t kept = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(kept = host::nms(state.range(0), boxes.data(), 0.7f, false, keep.data()));
  state.counters["kept"] = static_cast<double>(kept);
}

void detections(benchmark::State& state) {
  const Setting& s = kSettings[state.range(0)];
  const DetectionParams p{
      .images = s.images, .rois = s.rois, .classes = s.classes, .detections = s.detections, .coder = {10, 10, 5, 5}};
  Values probability = random_values(5, s.images * s.rois * s.classes, 0, 1);
  for (float& x : probability) x = x > 0.96f ? x : x * 0.05f;  // a few classes per RoI above the threshold
  const Values deltas = random_values(6, s.images * s.rois * s.classes * 4, -1, 1);
  const Values rois = random_boxes(7, s.images * s.rois, s.height, s.width, 16);
  const Rpn r({s.images, 64, 64});
  std::vector<std::int32_t> size, roi_count(s.images, static_cast<std::int32_t>(s.rois)),
      label(s.images * s.detections), count(s.images);
  for (std::int64_t i = 0; i < s.images; ++i) size.insert(size.end(), {std::int32_t(s.height), std::int32_t(s.width)});
  Values boxes(s.images * s.detections * 4), score(s.images * s.detections);
  for (auto _ : state) {
    host::detections(p, probability.data(), deltas.data(), rois.data(), roi_count.data(), size.data(), boxes.data(),
                     score.data(), label.data(), count.data());
    benchmark::ClobberMemory();
  }
  state.counters["kept"] = count[0];
}

// 16 positive RoIs per image, an object of half the image's size behind each.
void mask_targets_bitmap(benchmark::State& state) {
  const Setting& s = kSettings[state.range(0)];
  const std::int64_t rois_n = 16 * s.images;
  const auto h = static_cast<std::int32_t>(s.height / 2), w = static_cast<std::int32_t>(s.width / 2);
  std::vector<std::uint8_t> bits(h * w);
  for (std::int64_t i = 0; i < h * w; ++i) bits[i] = (i % w + i / w) % 97 < 60;
  const std::int64_t offset[] = {0};
  const std::int32_t box[] = {w / 2, h / 2, w, h};
  const std::vector<std::int32_t> object(rois_n, 0), height(rois_n, static_cast<std::int32_t>(s.height)),
      width(rois_n, static_cast<std::int32_t>(s.width));
  const Values rois = random_boxes(8, rois_n, s.height, s.width, 30);
  Values out(rois_n * 784);
  for (auto _ : state) {
    host::mask_targets_bitmap({.rois = rois_n, .size = 28}, bits.data(), offset, box, object.data(), rois.data(),
                              height.data(), width.data(), out.data());
    benchmark::ClobberMemory();
  }
}

void paste_mask(benchmark::State& state) {
  const Setting& s = kSettings[state.range(0)];
  const Values mask = random_values(9, 784, 0, 1), boxes = random_boxes(10, s.detections, s.height, s.width, 16);
  std::vector<std::uint8_t> bits(s.height * s.width);
  std::int32_t touched[4];
  for (auto _ : state)
    for (std::int64_t i = 0; i < s.detections; ++i) {
      host::paste_mask(28, mask.data(), boxes.data() + 4 * i, s.height, s.width, touched, bits.data(),
                       std::ssize(bits));
      benchmark::ClobberMemory();
    }
}

void sgd(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Values grad = random_values(11, n, -1e-3, 1e-3);
  Values momentum(n), weight(n, 1.0f);
  for (auto _ : state) {
    host::sgd({.lr = 1e-3f, .weight_decay = 1e-4f}, n, grad.data(), momentum.data(), weight.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * n * 5 * sizeof(float));
}

BENCHMARK(match)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK(sample)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK(proposals)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK(nms)->Arg(400)->Arg(2000)->Unit(benchmark::kMicrosecond);
BENCHMARK(detections)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK(mask_targets_bitmap)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK(paste_mask)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK(sgd)->Arg(2000000)->Arg(44125173)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ttt::kernels
