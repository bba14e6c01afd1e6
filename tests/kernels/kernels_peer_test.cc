// The reference implementations against torchvision, torch and pycocotools, on the cases that peer.py generates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "core/parallel.h"
#include "core/temp_folder.h"
#include "guarded.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/box_coder/box_coder.h"
#include "kernels/detections/detections.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/match/match.h"
#include "kernels/nms/nms.h"
#include "kernels/paste/paste.h"
#include "kernels/proposals/proposals.h"
#include "kernels/roi_align/roi_align.h"
#include "kernels/sample/sample.h"
#include "kernels/sgd/sgd.h"
#include "peer_case.h"
#include "tests/support/python.h"

namespace ttt::kernels {
namespace {

constexpr double kUnit = 0x1p-24;  // unit roundoff of float32

class Peer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (test::python().empty()) return;
    folder = std::make_unique<TempFolder>();
    const std::string command = test::python() + " " TTT_PEER_SCRIPT " " + folder->path().string();
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  static void TearDownTestSuite() { folder.reset(); }
  void SetUp() override {
    if (!folder) GTEST_SKIP() << "no Python environment (torchvision, pycocotools): run scripts/setup";
  }
  // Calls test(case) for each case of a kernel; there must be some.
  template <class Test>
  static void for_each_case(const std::string& kernel, const Test& test) {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder->path())) {
      if (!entry.path().filename().string().starts_with(kernel + "-")) continue;
      const PeerCase c(entry.path());
      SCOPED_TRACE(c.name);
      test(c);
      ++n;
    }
    EXPECT_GT(n, 0) << "no cases of " << kernel;
  }

  static inline std::unique_ptr<TempFolder> folder;
};

RoiAlignParams roi_align_params(const PeerCase& c) {
  const std::int32_t* v = c.i("ints");
  RoiAlignParams p;
  p.images = v[0], p.channels = v[1], p.levels = v[2], p.pooled = v[3], p.sampling_ratio = v[4];
  p.aligned = v[5], p.legacy_area = v[6], p.min_level = v[7];
  p.rois = c.dims("rois")[0];
  for (int l = 0; l < p.levels; ++l) {
    p.height[l] = c.i("sizes")[2 * l], p.width[l] = c.i("sizes")[2 * l + 1];
    p.scale[l] = c.f("scales")[l];
  }
  return p;
}

TEST_F(Peer, RoiAlignForward) {
  for_each_case("roi_align", [](const PeerCase& c) {
    const RoiAlignParams p = roi_align_params(c);
    std::vector<const float*> features;
    for (int l = 0; l < p.levels; ++l) features.push_back(c.f("feature" + std::to_string(l)));
    Guarded<float> out(c.numel("out"));
    host::roi_align_forward(p, features.data(), c.f("rois"), c.i("image"), out.get());
    // A bin is a convex combination of at most 4 grid^2 values; either side sums them with n rounding errors of at
    // most the largest value (|randn| < 6), and the weights carry 4 more. The largest adaptive grid here is 12.
    const double grid = p.sampling_ratio > 0 ? p.sampling_ratio : 12, tolerance = 2 * (4 * grid * grid + 4) * kUnit * 6;
    for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], c.f("out")[i], tolerance) << i;
  });
}

TEST_F(Peer, RoiAlignBackward) {
  for_each_case("roi_align", [](const PeerCase& c) {
    const RoiAlignParams p = roi_align_params(c);
    std::vector<std::unique_ptr<Guarded<float>>> grads;
    std::vector<float*> pointers;
    for (int l = 0; l < p.levels; ++l) {
      grads.push_back(std::make_unique<Guarded<float>>(c.numel("grad" + std::to_string(l))));
      pointers.push_back(grads.back()->get());
      std::fill_n(pointers.back(), grads.back()->size(), 0.0f);
    }
    host::roi_align_backward(p, c.f("grad"), c.f("rois"), c.i("image"), pointers.data());
    for (int l = 0; l < p.levels; ++l) {
      const std::string key = std::to_string(l);
      // Both sides sum the same terms in another order: at most n units of the sum of absolute terms (which the peer
      // gives), n the terms at one pixel. A RoI of one bin size 0.2 pixels puts all its 4 * 14 * 14 * 4 samples there,
      // and a few such RoIs meet; rounding errors do not all point the same way, so n = 1024 is already generous.
      const float *expected = c.f("grad" + key), *absolute = c.f("abs" + key);
      for (std::int64_t i = 0; i < c.numel("grad" + key); ++i)
        ASSERT_NEAR((*grads[l])[i], expected[i], 1024 * kUnit * absolute[i]) << "level " << l << " at " << i;
    }
  });
}

TEST_F(Peer, Match) {
  for_each_case("match", [](const PeerCase& c) {
    const std::int32_t* v = c.i("ints");
    MatchParams p;
    p.images = v[0], p.candidates = v[1], p.gt_capacity = v[2], p.shared_candidates = v[3], p.allow_low_quality = v[4],
    p.legacy = v[5];
    p.high = c.f("floats")[0], p.low = c.f("floats")[1];
    Guarded<std::int32_t> matched(p.images * p.candidates);
    host::match(p, {c.f("gt"), c.i("count"), c.f("candidates"), c.data<std::uint8_t>("visible")}, matched.get());
    for (std::int64_t i = 0; i < matched.size(); ++i) ASSERT_EQ(matched[i], c.i("matched")[i]) << i;
  });
}

TEST_F(Peer, Sample) {
  for_each_case("sample", [](const PeerCase& c) {
    const auto* v = c.data<std::int64_t>("ints");
    SampleParams p;
    p.images = v[0], p.candidates = v[1], p.size = v[2], p.purpose = v[4];
    const std::int64_t key[] = {v[3], v[5]};
    p.positive_fraction = c.f("floats")[0];
    Guarded<std::int32_t> index(p.images * p.size), positives(p.images), total(p.images);
    host::sample(p, {key, c.i("matched"), c.data<std::int64_t>("id")}, {index.get(), positives.get(), total.get()});
    for (std::int64_t i = 0; i < index.size(); ++i) ASSERT_EQ(index[i], c.i("index")[i]) << i;
    for (std::int64_t n = 0; n < p.images; ++n) {
      EXPECT_EQ(positives[n], c.i("positives")[n]);
      EXPECT_EQ(total[n], c.i("total")[n]);
    }
  });
}

TEST_F(Peer, BoxCoder) {
  for_each_case("box_coder", [](const PeerCase& c) {
    const float* w = c.f("weights");
    BoxCoderParams p{.wx = w[0], .wy = w[1], .ww = w[2], .wh = w[3], .legacy = c.i("ints")[0] != 0};
    const std::int64_t n = c.dims("gt")[0];
    Guarded<float> out(4 * n);
    host::encode_boxes(p, n, c.f("gt"), c.f("reference"), out.get());
    for (std::int64_t i = 0; i < 4 * n; ++i) {
      // dx, dy: the same float operations. dw, dh: torch's vectorised log is within 1 ulp, and so is libm's.
      const double tolerance = i % 4 < 2 ? 0 : 4 * kUnit * std::fabs(c.f("encoded")[i]) + 1e-37;
      ASSERT_NEAR(out[i], c.f("encoded")[i], tolerance) << i;
    }
    host::decode_boxes(p, n, c.f("delta"), c.f("reference"), out.get());
    for (std::int64_t i = 0; i < 4 * n; ++i) {
      // exp may differ by 2 ulp; the side it scales, and the corner it moves, differ by as much of their magnitude.
      const std::int64_t b = i / 4 * 4, axis = i % 2;
      const double side = std::fabs(double{c.f("decoded")[b + 2 + axis]} - c.f("decoded")[b + axis]);
      ASSERT_NEAR(out[i], c.f("decoded")[i], 4 * kUnit * (side + std::fabs(c.f("decoded")[i]))) << i;
    }
  });
}

TEST_F(Peer, Nms) {
  for_each_case("nms", [](const PeerCase& c) {
    const std::int64_t n = c.dims("boxes")[0];
    Guarded<std::int32_t> keep(n);
    const std::int64_t kept = host::nms(n, c.f("boxes"), c.f("floats")[0], c.i("ints")[0] != 0, keep.get());
    ASSERT_EQ(kept, c.numel("keep"));
    for (std::int64_t i = 0; i < kept; ++i) ASSERT_EQ(keep[i], c.i("keep")[i]) << i;
  });
}

TEST_F(Peer, Proposals) {
  for_each_case("proposals", [](const PeerCase& c) {
    const std::int32_t* v = c.i("ints");
    ProposalParams p;
    p.images = v[0], p.anchors = v[1], p.pre_nms = v[2], p.post_nms = v[3], p.post_nms_per_level = v[4];
    p.post_nms_batch = v[5], p.cut_over_batch = v[5] > 0, p.coder.legacy = v[6];
    p.min_size = c.f("floats")[0], p.nms_threshold = c.f("floats")[1];
    p.levels = static_cast<int>(c.dims("levels")[0]) - 1;
    std::copy_n(c.data<std::int64_t>("levels"), p.levels + 1, p.level_start);
    Guarded<float> boxes(p.images * p.post_nms * 4), scores(p.images * p.post_nms);
    Guarded<std::int32_t> count(p.images);
    host::proposals(p, {c.f("logits"), c.f("deltas"), c.f("anchors"), c.i("sizes")},
                    {boxes.get(), scores.get(), count.get()});
    for (std::int64_t n = 0; n < p.images; ++n) ASSERT_EQ(count[n], c.i("count")[n]);
    for (std::int64_t i = 0; i < scores.size(); ++i) {
      // torchvision returns the sigmoid; the peer took its logit: half an ulp of s is 2^-25 / (1 - s) of the logit.
      const double s = c.f("scores")[i], slack = p.coder.legacy ? 0 : 2 * kUnit * (2 + std::exp(std::fabs(s)));
      ASSERT_NEAR(scores[i], s, slack) << i;
    }
    // Coordinates below 320, with 4 units for exp as in BoxCoder on sides of up to 1000 before the clip.
    for (std::int64_t i = 0; i < boxes.size(); ++i) ASSERT_NEAR(boxes[i], c.f("boxes")[i], 4 * kUnit * 1320) << i;
  });
}

TEST_F(Peer, Detections) {
  for_each_case("detections", [](const PeerCase& c) {
    const std::int32_t* v = c.i("ints");
    DetectionParams p;
    p.images = v[0], p.rois = v[1], p.classes = v[2], p.detections = v[3];
    p.score_threshold = c.f("floats")[0];
    p.coder = {.wx = 10, .wy = 10, .ww = 5, .wh = 5};
    const std::int64_t rows = p.images * p.detections;
    Guarded<float> boxes(rows * 4), scores(rows);
    Guarded<std::int32_t> labels(rows), count(p.images);
    host::detections(p, {c.f("probabilities"), c.f("deltas"), c.f("rois"), c.i("roi_count"), c.i("sizes")},
                     {boxes.get(), scores.get(), labels.get(), count.get()});
    for (std::int64_t n = 0; n < p.images; ++n) ASSERT_EQ(count[n], c.i("count")[n]);
    for (std::int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(labels[i], c.i("labels")[i]) << i;
      // The peer's softmax ran over another batch of rows; its vectorised exp may end in another last bit.
      ASSERT_NEAR(scores[i], c.f("scores")[i], 4 * kUnit) << i;
      for (int k = 0; k < 4; ++k) ASSERT_NEAR(boxes[4 * i + k], c.f("boxes")[4 * i + k], 4 * kUnit * 900) << i;
    }
  });
}

TEST_F(Peer, MaskTargetsBitmap) {
  for_each_case("mask_bitmap", [](const PeerCase& c) {
    const std::int64_t rois = c.dims("rois")[0];
    const MaskTargetParams p{.rois = rois, .size = c.i("ints")[0]};
    const std::vector<std::int32_t> height(rois, c.i("ints")[1]), width(rois, c.i("ints")[2]);
    Guarded<float> out(c.numel("target"));
    host::mask_targets_bitmap(p,
                              {c.data<std::uint8_t>("bytes"), c.data<std::int64_t>("offset"), c.i("box"), c.i("object"),
                               c.f("rois"), height.data(), width.data()},
                              out.get());
    // Averages of at most n = 4 grid^2 values in [0, 1]; the peer adds them in one chain before it divides, so up to n
    // units; ours in two short ones. grid <= ceil(800 / 28).
    const double grid = std::ceil(std::max(height[0], width[0]) / double(p.size));
    for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], c.f("target")[i], 4 * grid * grid * kUnit) << i;
  });
}

TEST_F(Peer, MaskTargetsPolygon) {
  for_each_case("mask_polygon", [](const PeerCase& c) {
    const MaskTargetParams p{.rois = c.dims("rois")[0], .size = c.i("ints")[0]};
    Guarded<float> out(c.numel("target"));
    host::mask_targets_polygon(p, {c.i("object_polygon"), c.i("polygon_vertex"), c.f("vertices")}, c.i("object"),
                               c.f("rois"), out.get());
    for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], c.f("target")[i]) << i;
  });
}

TEST_F(Peer, PasteMask) {
  for_each_case("paste", [](const PeerCase& c) {
    const int size = c.i("ints")[0];
    const std::int64_t height = c.i("ints")[1], width = c.i("ints")[2];
    std::int64_t unsure = 0;
    for (std::int64_t n = 0; n < c.dims("boxes")[0]; ++n) {
      const float* pasted = c.f("pasted") + n * height * width;
      std::int32_t box[4];
      Guarded<std::uint8_t> bits(height * width);
      host::paste_mask(size, c.f("masks") + n * size * size, c.f("boxes") + 4 * n, height, width, box, bits.get(),
                       bits.size());
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
          const bool inside = x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3];
          const bool got = inside && bits[(y - box[1]) * box[2] + x - box[0]] != 0;
          if (std::fabs(pasted[y * width + x] - 0.5f) <= 1e-6f) {
            ++unsure;  // the peer may fuse a multiply and an add there
          } else {
            ASSERT_EQ(got, pasted[y * width + x] > 0.5f) << n << ": " << y << ", " << x;
          }
        }
    }
    EXPECT_LT(unsure, 20);
  });
}

// To the bit, on CPUs with fused multiply-add (torch uses it where the CPU has it, and so do we).
TEST_F(Peer, Sgd) {
  for_each_case("sgd", [](const PeerCase& c) {
    const std::int64_t n = c.numel("start"), steps = c.dims("grads")[0];
    const SgdParams p{.lr = c.f("floats")[0], .momentum = c.f("floats")[1], .weight_decay = c.f("floats")[2]};
    Guarded<float> weight(n), momentum(n);
    std::copy_n(c.f("start"), n, weight.get());
    std::fill_n(momentum.get(), n, 0.0f);
    for (std::int64_t s = 0; s < steps; ++s) host::sgd(p, n, c.f("grads") + s * n, momentum.get(), weight.get());
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(weight[i], c.f("weight")[i]) << i;
    for (std::int64_t i = 0; i < c.numel("momentum"); ++i) ASSERT_EQ(momentum[i], c.f("momentum")[i]) << i;
  });
}

// NaNs: any.
TEST_F(Peer, Float16AndBfloat16) {
  for_each_case("float16", [](const PeerCase& c) {
    const auto same = [](float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); };
    for (int i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      ASSERT_TRUE(same(widen(Float16{bits}), c.f("float16")[i])) << i;
      ASSERT_TRUE(same(widen(Bfloat16{bits}), c.f("bfloat16")[i])) << i;
    }
    for (std::int64_t i = 0; i < c.numel("x"); ++i) {
      const float x = c.f("x")[i];
      const Float16 half = narrow<Float16>(x);
      const Bfloat16 brain = narrow<Bfloat16>(x);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(widen(half)) && std::isnan(widen(brain))) << i;
      } else {
        ASSERT_EQ(half.bits, c.i("x_float16")[i]) << x;
        ASSERT_EQ(brain.bits, c.i("x_bfloat16")[i]) << x;
      }
    }
  });
}

template <class T>
void expect_scale_offset_relu(const PeerCase& c) {
  const std::int64_t rows = c.dims("x")[0], channels = c.dims("x")[1], n = rows * channels;
  const auto values = [&](const std::string& key) {
    std::vector<T> all(n);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(&all[i], &c.i(key)[i], sizeof(T));  // little endian, as the file
    return all;
  };
  const std::vector<T> x = values("x"), residual = values("residual");
  const auto expect = [&](const std::string& key, bool relu, const T* added) {
    Guarded<T> y(n);
    host::scale_offset_relu<T>({.rows = rows, .channels = channels, .relu = relu},
                               {x.data(), nullptr, c.f("offset"), added}, y.get());
    const std::vector<T> want = values(key);
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_TRUE(std::memcmp(&want[i], &y[i], sizeof(T)) == 0 ||
                  (std::isnan(widen(want[i])) && std::isnan(widen(y[i]))))
          << key << " " << i;
  };
  expect("plain", false, nullptr);
  expect("relu", true, nullptr);
  expect("added", true, residual.data());
}

// To the bit: sums in float32, rounded once.
TEST_F(Peer, ScaleOffsetRelu) {
  for_each_case("scale_offset_relu", [](const PeerCase& c) {
    if (c.name.ends_with("bfloat16"))
      expect_scale_offset_relu<Bfloat16>(c);
    else if (c.name.ends_with("float16"))
      expect_scale_offset_relu<Float16>(c);
    else
      expect_scale_offset_relu<float>(c);
  });
}

}  // namespace
}  // namespace ttt::kernels
