// micro_cuda: each CUDA kernel at the sizes of the recipes, on the first GPU. Names and inputs are micro's, so that
// compare_kernels.py --device cuda compares with torchvision's operators on the same GPU. bytes/s counts each byte that
// must be read or written once; the context's copy_bytes_per_s is the rate of a copy within the device's memory.
#include <cstring>

#include "context.h"
#include "cuda_passes.h"
#include "cuda_timing.h"
#include "kernels/box_coder/box_coder.h"
#include "kernels/detections/detections.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/match/match.h"
#include "kernels/nms/nms.h"
#include "kernels/paste/paste.h"
#include "kernels/preprocess/preprocess.h"
#include "kernels/proposals/proposals.h"
#include "kernels/roi_align/roi_align.h"
#include "kernels/sample/sample.h"
#include "rpn_inputs.h"

namespace ttt::micro {
namespace {

namespace cuda = kernels::cuda;

struct RoiInputs {
  explicit RoiInputs(const RoiShape& s)
      : out(static_cast<std::size_t>(s.rois * s.pooled * s.pooled * s.channels)), rois(0), image(0), scratch(0) {
    p.levels = 4, p.images = s.images, p.channels = s.channels, p.rois = s.rois, p.pooled = s.pooled;
    for (int l = 0; l < 4; ++l) {
      const std::int64_t stride = 4 << l;
      p.height[l] = (s.height + stride - 1) / stride, p.width[l] = (s.width + stride - 1) / stride,
      p.scale[l] = 1.0f / static_cast<float>(stride);
      maps.push_back(Device<float>::of(
          random_values(static_cast<std::uint64_t>(l), p.images * p.height[l] * p.width[l] * p.channels, -1, 1)));
      pointers.push_back(maps.back()), bytes += maps.back().bytes();
    }
    rois = Device<float>::of(random_boxes(
        100, s.rois, static_cast<double>(s.height), static_cast<double>(s.width), s.height < 200 ? 8 : 16));
    std::vector<std::int32_t> of(static_cast<std::size_t>(s.rois));
    for (std::int64_t r = 0; r < s.rois; ++r)
      of[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r * s.images / s.rois);
    image = Device<std::int32_t>::of(of);
    scratch = workspace(cuda::roi_align_backward_workspace(p));
    bytes += out.bytes();
  }
  kernels::RoiAlignParams p;
  std::vector<Device<float>> maps;
  std::vector<float*> pointers;
  Device<float> out, rois;
  Device<std::int32_t> image;
  Device<unsigned char> scratch;
  double bytes = 0;
};

void add_roi_align() {
  for (const RoiShape& s : kRoiShapes) {
    double floats = static_cast<double>(s.rois * s.pooled * s.pooled * s.channels);
    for (int l = 0; l < 4; ++l)
      floats += static_cast<double>(
          s.images * s.channels * (((s.height - 1) >> (l + 2)) + 1) * (((s.width - 1) >> (l + 2)) + 1));
    const Load load{static_cast<double>(s.rois), "RoIs/s", 4 * floats};
    add_kernel(std::string("roi_align_forward/") + s.name, load, [s] {
      return owning(RoiInputs(s), [](RoiInputs& in) {
        cuda::roi_align_forward<float>(in.p, in.pointers.data(), in.rois, in.image, in.out, nullptr);
      });
    });
    // With the zeroing of the gradients, which the caller owes.
    add_kernel(std::string("roi_align_backward/") + s.name, load, [s] {
      return owning(RoiInputs(s), [](RoiInputs& in) {
        for (const Device<float>& map : in.maps)
          check(cudaMemsetAsync(map, 0, static_cast<std::size_t>(map.bytes()), nullptr), "Clearing a gradient");
        cuda::roi_align_backward<float>(in.p, in.out, in.rois, in.image, in.pointers.data(), in.scratch, nullptr);
      });
    });
  }
}

struct OnDevice {
  explicit OnDevice(const Detector& s)
      : host(s), gt(Device<float>::of(host.gt)), logits(Device<float>::of(host.logits)),
        deltas(Device<float>::of(host.deltas)), anchors(Device<float>::of(host.anchors.boxes)),
        gt_count(Device<std::int32_t>::of(host.gt_count)), size(Device<std::int32_t>::of(host.size)),
        matched(host.matched.size()), sampled(static_cast<std::size_t>(s.images * s.rpn_sample)),
        counts(static_cast<std::size_t>(2 * s.images)), key(2),
        id(Device<std::int64_t>::of(std::vector<std::int64_t>(static_cast<std::size_t>(s.images), 7))),
        boxes(static_cast<std::size_t>(s.images * s.post_nms * 4)),
        scores(static_cast<std::size_t>(s.images * s.post_nms)), match{.images = s.images,
                                                                     .candidates = host.n,
                                                                     .gt_capacity = RpnInputs::kGtCapacity,
                                                                     .shared_candidates = true,
                                                                     .allow_low_quality = true},
        sample{.images = s.images, .candidates = host.n, .size = s.rpn_sample}, scratch(0) {
    proposals.images = s.images, proposals.anchors = host.n, proposals.levels = 5, proposals.pre_nms = s.pre_nms,
    proposals.post_nms = s.post_nms;
    std::copy(host.anchors.level_start.begin(), host.anchors.level_start.end(), proposals.level_start);
    scratch = workspace(
        std::max({cuda::match_workspace(match), cuda::sample_workspace(sample), cuda::proposals_workspace(proposals)}));
  }
  void match_anchors() { cuda::match(match, {gt, gt_count, anchors, nullptr}, matched, scratch, nullptr); }

  RpnInputs host;
  Device<float> gt, logits, deltas, anchors;
  Device<std::int32_t> gt_count, size, matched, sampled, counts;
  Device<std::int64_t> key, id;
  Device<float> boxes, scores;
  kernels::MatchParams match;
  kernels::SampleParams sample;
  kernels::ProposalParams proposals;
  Device<unsigned char> scratch;
};

void add_rpn(const Detector& s) {
  const double anchors = static_cast<double>(std::ssize(pyramid_anchors(s.height, s.width).boxes) / 4),
               images = static_cast<double>(s.images);
  add_kernel(std::string("match/") + s.name, {images * anchors, "anchors/s", anchors * (16 + 4 * images)},
      [&s] { return owning(OnDevice(s), [](OnDevice& d) { d.match_anchors(); }); });
  add_kernel(std::string("sample/") + s.name, {images * anchors, "anchors/s", images * anchors * 4}, [&s] {
    OnDevice made(s);
    made.match_anchors();
    return owning(std::move(made), [](OnDevice& d) {
      cuda::sample(
          d.sample, {d.key, d.matched, d.id}, {d.sampled, d.counts, d.counts + d.sample.images}, d.scratch, nullptr);
    });
  });
  add_kernel(std::string("proposals/") + s.name, {images, "images/s", images * anchors * 4}, [&s] {
    return owning(OnDevice(s), [](OnDevice& d) {
      cuda::proposals(
          d.proposals, {d.logits, d.deltas, d.anchors, d.size}, {d.boxes, d.scores, d.counts}, d.scratch, nullptr);
    });
  });
}

struct Head {
  explicit Head(const Detector& s)
      : p{.images = s.images,
            .rois = s.rois,
            .classes = s.classes,
            .detections = s.detections,
            .coder = {10, 10, 5, 5}},
        probability(0), deltas(Device<float>::of(random_values(6, s.images * s.rois * s.classes * 4, -1, 1))),
        rois(Device<float>::of(
            random_boxes(7, s.images * s.rois, static_cast<double>(s.height), static_cast<double>(s.width), 16))),
        boxes(static_cast<std::size_t>(s.images * s.detections * 4)),
        score(static_cast<std::size_t>(s.images * s.detections)),
        roi_count(Device<std::int32_t>::of(
            std::vector<std::int32_t>(static_cast<std::size_t>(s.images), static_cast<std::int32_t>(s.rois)))),
        size(0), label(static_cast<std::size_t>(s.images * s.detections)), count(static_cast<std::size_t>(s.images)),
        scratch(workspace(cuda::detections_workspace(p))) {
    Values values = random_values(5, s.images * s.rois * s.classes, 0, 1);
    for (float& x : values) x = x > 0.96f ? x : x * 0.05f;
    probability = Device<float>::of(values);
    std::vector<std::int32_t> sizes;
    for (std::int64_t i = 0; i < s.images; ++i)
      sizes.insert(sizes.end(), {static_cast<std::int32_t>(s.height), static_cast<std::int32_t>(s.width)});
    size = Device<std::int32_t>::of(sizes);
  }
  kernels::DetectionParams p;
  Device<float> probability, deltas, rois, boxes, score;
  Device<std::int32_t> roi_count, size, label, count;
  Device<unsigned char> scratch;
};

struct Masks {
  explicit Masks(const Detector& s)
      : rois_n(s.images * s.positive_rois), h(static_cast<std::int32_t>(s.height / 2)),
        w(static_cast<std::int32_t>(s.width / 2)), bits(0), offset(1),
        box(Device<std::int32_t>::of(std::vector<std::int32_t>{w / 2, h / 2, w, h})),
        object(static_cast<std::size_t>(rois_n)),
        height(Device<std::int32_t>::of(
            std::vector<std::int32_t>(static_cast<std::size_t>(rois_n), static_cast<std::int32_t>(s.height)))),
        width(Device<std::int32_t>::of(
            std::vector<std::int32_t>(static_cast<std::size_t>(rois_n), static_cast<std::int32_t>(s.width)))),
        rois(Device<float>::of(
            random_boxes(8, rois_n, static_cast<double>(s.height), static_cast<double>(s.width), 30))),
        out(static_cast<std::size_t>(rois_n) * kSize * kSize) {
    std::vector<std::uint8_t> values(static_cast<std::size_t>(h) * static_cast<std::size_t>(w));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (i % static_cast<std::size_t>(w) + i / static_cast<std::size_t>(w)) % 97 < 60;
    bits = Device<std::uint8_t>::of(values);
  }
  static constexpr int kSize = 28;
  std::int64_t rois_n;
  std::int32_t h, w;
  Device<std::uint8_t> bits;
  Device<std::int64_t> offset;
  Device<std::int32_t> box, object, height, width;
  Device<float> rois, out;
};

// Pasted and run-length encoded.
struct Pasting {
  explicit Pasting(const Detector& s)
      : p{.size = Masks::kSize, .masks = s.detections},
        masks(Device<float>::of(random_values(9, s.detections * Masks::kSize * Masks::kSize, 0, 1))),
        boxes(Device<float>::of(
            random_boxes(10, s.detections, static_cast<double>(s.height), static_cast<double>(s.width), 16))),
        size(0), begin(static_cast<std::size_t>(s.detections + 1)),
        changes(static_cast<std::size_t>(s.detections * s.width * (Masks::kSize + 3))) {
    std::vector<std::int32_t> sizes;
    for (std::int64_t i = 0; i < s.detections; ++i)
      sizes.insert(sizes.end(), {static_cast<std::int32_t>(s.height), static_cast<std::int32_t>(s.width)});
    size = Device<std::int32_t>::of(sizes);
  }
  kernels::MaskChangesParams p;
  Device<float> masks, boxes;
  Device<std::int32_t> size, begin, changes;  // of a column no more than its probabilities cross the threshold
};

void add_heads(const Detector& s) {
  const double images = static_cast<double>(s.images);
  add_kernel(std::string("detections/") + s.name,
      {images, "images/s", 4 * images * static_cast<double>(s.rois * s.classes)}, [&s] {
        return owning(Head(s), [](Head& d) {
          cuda::detections(d.p, {d.probability, d.deltas, d.rois, d.roi_count, d.size},
              {d.boxes, d.score, d.label, d.count}, d.scratch, nullptr);
        });
      });
  const double rois = static_cast<double>(s.images * s.positive_rois);
  add_kernel(std::string("mask_targets/") + s.name, {rois, "RoIs/s", rois * 4 * Masks::kSize * Masks::kSize}, [&s] {
    return owning(Masks(s), [](Masks& m) {
      cuda::mask_targets_bitmap({.rois = m.rois_n, .size = Masks::kSize, .longest_side = std::max(m.h, m.w)},
          {m.bits, m.offset, m.box, m.object, m.rois, m.height, m.width}, m.out, nullptr);
    });
  });
  add_kernel(std::string("paste_mask/") + s.name,
      {static_cast<double>(s.detections), "masks/s",
          static_cast<double>(s.detections) * 4 * Masks::kSize * Masks::kSize},
      [&s] {
        return owning(Pasting(s), [](Pasting& d) {
          cuda::count_mask_changes(d.p, {d.masks, d.boxes, d.size}, d.begin, nullptr);
          cuda::write_mask_changes(d.p, {d.masks, d.boxes, d.size}, d.begin, d.changes, nullptr);
        });
      });
}

void add_nms() {
  struct Inputs {
    explicit Inputs(std::int64_t n)
        : n(n), boxes(Device<float>::of(random_boxes(4, n, 800, 1344, 100))), keep(static_cast<std::size_t>(n)),
          count(1), scratch(workspace(cuda::nms_workspace(n))) {}
    std::int64_t n;
    Device<float> boxes;
    Device<std::int32_t> keep, count;
    Device<unsigned char> scratch;
  };
  for (const std::int64_t n : {400, 2000})
    add_kernel(
        "nms/" + std::to_string(n) + "_boxes", {static_cast<double>(n), "boxes/s", 16.0 * static_cast<double>(n)}, [n] {
          return owning(
              Inputs(n), [](Inputs& d) { cuda::nms(d.n, d.boxes, 0.7f, false, d.keep, d.count, d.scratch, nullptr); });
        });
}

// 12 images of 480 x 640, of the mlperf recipe's size.
void add_preprocess() {
  struct Inputs {
    kernels::PreprocessParams p{.images = 12, .height = 800, .width = 1344};
    Device<std::uint8_t> bytes{12 * 480 * 640 * 3},
        flipped = Device<std::uint8_t>::of(std::vector<std::uint8_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
    Device<std::int64_t> offset = Device<std::int64_t>::of([] {
      std::vector<std::int64_t> all;
      for (std::int64_t n = 0; n < 12; ++n) all.push_back(n * 480 * 640 * 3);
      return all;
    }());
    Device<std::int32_t> size = sizes(480, 640), placed = sizes(800, 1066);
    Device<float> values{768}, images{12 * 800 * 1344 * 3};
    static Device<std::int32_t> sizes(std::int32_t height, std::int32_t width) {
      std::vector<std::int32_t> all;
      for (int n = 0; n < 12; ++n) all.push_back(height), all.push_back(width);
      return Device<std::int32_t>::of(all);
    }
  };
  add_kernel("preprocess/coco_800", {12, "images/s", 12.0 * (480 * 640 * 3 + 4.0 * 800 * 1344 * 3)}, [] {
    return owning(Inputs(), [](Inputs& d) {
      cuda::preprocess(d.p, {d.bytes, d.offset, d.size, d.placed, d.flipped}, d.values, d.images, nullptr);
    });
  });
}

void add_device_context() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "The properties of the device");
  benchmark::AddCustomContext("gpu", properties.name);
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const Device<unsigned char> from(kBytes), to(kBytes);
  const double s =
      seconds_of([&] { check(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, nullptr), "A copy"); });
  // read and written
  benchmark::AddCustomContext("copy_bytes_per_s", std::to_string(2.0 * static_cast<double>(kBytes) / s));
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  int devices = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&devices); e != cudaSuccess || devices == 0)
    throw NotSupported(std::string("micro_cuda times kernels on a GPU, and there is none here") +
                       (e == cudaSuccess ? "" : std::string(" (") + cudaGetErrorString(e) + ")") +
                       ". micro times their reference implementations.");
  add_context(), add_device_context();
  add_roi_align();
  for (const Detector& s : kDetectors) add_rpn(s), add_heads(s);
  add_nms(), add_preprocess(), add_passes();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace ttt::micro

int main(int argc, char** argv) {
  try {
    return ttt::micro::run(argc, argv);
  } catch (const ttt::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return e.exit_code();
  }
}
