// Launches of the recipes' full shapes, recorded and not executed, against the devices' limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backend.h"
#include "core/error.h"
#include "data/collate.h"
#include "embedded_recipes.h"
#include "kernels/adam/adam.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/box_coder/box_coder.h"
#include "kernels/detections/detections.h"
#include "kernels/mask_logits/mask_logits.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/match/match.h"
#include "kernels/max_pool/max_pool.h"
#include "kernels/nms/nms.h"
#include "kernels/nonfinite/nonfinite.h"
#include "kernels/paste/paste.h"
#include "kernels/patches/patches.h"
#include "kernels/preprocess/preprocess.h"
#include "kernels/proposals/proposals.h"
#include "kernels/roi_align/roi_align.h"
#include "kernels/round_bfloat16/round_bfloat16.h"
#include "kernels/sample/sample.h"
#include "kernels/sgd/sgd.h"
#include "kernels/squared_norms/squared_norms.h"
#include "models/mask_rcnn/config.h"
#include "settings/settings_reader.h"

namespace ttt::kernels {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; shared memory: without opting in to
// more.
struct Device {
  int capability;
  std::int64_t grid_x, grid_yz, threads, shared;
};
constexpr Device kDevices[] = {
    {80, 2147483647, 65535, 1024, 49152}, {90, 2147483647, 65535, 1024, 49152}, {100, 2147483647, 65535, 1024, 49152}};

// The sections of a recipe that give the kernels their shapes.
struct Recipe {
  data::DataSettings data;
  model::ModelConfig model;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("data", s.data, "images and their transformation");
    v("model", s.model, "Mask R-CNN");
  }
};

// The sections that a Recipe has, with their lines' numbers; the others ([train], [mlperf]) need LibTorch's headers.
std::string shaping_sections(const std::string& text) {
  std::istringstream in(text);
  std::string kept;
  bool keep = true;
  for (std::string line; std::getline(in, line); kept += '\n') {
    if (line.starts_with('[')) keep = line.starts_with("[data") || line.starts_with("[model");
    if (keep) kept += line;
  }
  return kept;
}

Recipe recipe_named(const std::string& name) {
  Recipe recipe;
  result::FieldTable table = result::field_table(recipe);
  harness::read_settings_text(table, shaping_sections(embedded_recipes().at(name)), "recipe " + name);
  result::assign(table, recipe);
  return recipe;
}

// The padded sizes of a recipe's batches: of landscape images, of upright ones, and of both in one batch of an
// evaluation.
std::vector<data::Size> sizes_of(const Recipe& r) {
  const data::Size wide{480, 640}, upright{640, 480};
  std::vector<data::Size> all;
  for (const std::vector<data::Size>& images : {std::vector{wide}, std::vector{upright}, std::vector{wide, upright}})
    if (const data::Size size = data::padded_size(r.data, images); std::find(all.begin(), all.end(), size) == all.end())
      all.push_back(size);
  return all;
}

// Where a recipe leaves them to the data: as many categories as COCO's ids reach, and more objects than are on any of
// its images (93).
std::int64_t classes_of(const Recipe& r) { return r.model.classes > 0 ? r.model.classes : 91; }
std::int64_t gt_capacity_of(const Recipe& r) { return r.data.gt_capacity > 0 ? r.data.gt_capacity : 96; }

// As model/rpn.cc and model/roi_heads.cc make them of a recipe.
ProposalParams proposals_of(const Recipe& r, data::Size size, std::int64_t images, bool training) {
  const model::RpnConfig& rpn = r.model.rpn;
  ProposalParams p;
  p.images = images, p.levels = static_cast<int>(rpn.anchor_sizes.size()), p.coder.legacy = r.model.legacy_boxes;
  p.pre_nms = training ? rpn.pre_nms_train : rpn.pre_nms_test,
  p.post_nms = training ? rpn.post_nms_train : rpn.post_nms_test;
  p.post_nms_per_level = rpn.cut_per_level ? p.post_nms : 0;
  p.cut_over_batch = training && rpn.cut_over_batch, p.post_nms_batch = p.post_nms;
  for (int l = 0; l < p.levels; ++l) {
    const std::int64_t stride = std::int64_t{4} << l;
    p.level_start[l] = p.anchors;
    p.anchors +=
        (size.height + stride - 1) / stride * ((size.width + stride - 1) / stride) * std::ssize(rpn.anchor_ratios);
  }
  p.level_start[p.levels] = p.anchors;
  return p;
}

RoiAlignParams roi_align_of(const Recipe& r, data::Size size, std::int64_t rois, std::int64_t images, int pooled) {
  RoiAlignParams p;
  p.levels = 4, p.images = images, p.channels = r.model.backbone.fpn_channels, p.rois = rois, p.pooled = pooled,
  p.legacy_area = r.model.legacy_boxes;
  for (int l = 0; l < 4; ++l) {
    const std::int64_t stride = std::int64_t{4} << l;
    p.height[l] = (size.height + stride - 1) / stride, p.width[l] = (size.width + stride - 1) / stride;
    p.scale[l] = 1.0f / static_cast<float>(stride);
  }
  return p;
}

// The normalisations of the stem and of the four stages, of which each has its widest and its narrowest layer.
std::vector<BatchNormParams> norms_of(const Recipe& r, data::Size size, std::int64_t images) {
  const auto at = [&](std::int64_t stride, std::int64_t channels) {
    return BatchNormParams{
        .rows = images * ((size.height + stride - 1) / stride) * ((size.width + stride - 1) / stride),
        .channels = channels};
  };
  std::vector<BatchNormParams> all = {at(2, r.model.backbone.width)};
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::int64_t narrow = r.model.backbone.width << stage,
                       wide = r.model.backbone.block == "bottleneck" ? 4 * narrow : narrow;
    all.push_back(at(4 << stage, narrow)), all.push_back(at(4 << stage, wide));
  }
  return all;
}

template <class T> void roi_align_launches(const RoiAlignParams& p) {
  const T* features[4] = {};
  T* gradients[4] = {};
  cuda::roi_align_forward<T>(p, features, nullptr, nullptr, nullptr, nullptr);
  cuda::roi_align_backward<T>(p, nullptr, nullptr, nullptr, gradients, nullptr, nullptr);
}

// The sampled anchors of a batch.
template <class T> void patch_launches(const Recipe& r, data::Size size, std::int64_t images) {
  PatchParams p;
  p.levels = 5, p.images = images, p.channels = r.model.backbone.fpn_channels,
  p.kinds = std::ssize(r.model.rpn.anchor_ratios), p.rows = r.model.rpn.sample;
  for (int l = 0; l < p.levels; ++l) {
    const std::int64_t stride = std::int64_t{4} << l;
    p.height[l] = (size.height + stride - 1) / stride, p.width[l] = (size.width + stride - 1) / stride;
  }
  const T* features[5] = {};
  T* gradients[5] = {};
  cuda::patches_forward<T>(p, features, {}, nullptr, nullptr);
  cuda::patches_backward<T>(p, nullptr, {}, gradients, nullptr);
}

// Of the positives of a training's batch, or of the detections of an evaluation's.
template <class T> void mask_logit_launches(const Recipe& r, std::int64_t rows) {
  const MaskLogitsParams p{.rows = rows, .channels = r.model.roi.mask_channels, .classes = classes_of(r)};
  cuda::mask_logits_forward<T>(p, {}, nullptr, nullptr, nullptr);
  cuda::mask_logits_backward<T>(p, {}, nullptr, {}, nullptr, nullptr);
}

// Behind the biased convolutions of the pyramid and of the mask head.
void offset_launches(const BatchNormParams& p) {
  cuda::offset_gradient<float>(p, {}, {}, nullptr, nullptr);
  cuda::offset_gradient<Bfloat16>(p, {}, {}, nullptr, nullptr);
}

void norm_launches(const BatchNormParams& p) {
  const SumOverRanks over_ranks = [](double*, std::size_t) {};
  for (const SumOverRanks& sum : {SumOverRanks{}, over_ranks}) {  // norm = batch and sync
    cuda::batch_norm_forward(p, {}, {}, nullptr, nullptr, sum);
    cuda::batch_norm_backward(p, {}, {}, nullptr, nullptr, sum);
  }
  cuda::scale_offset_relu<float>(p, {}, nullptr, nullptr);  // norm = frozen
  cuda::scale_offset_relu<Bfloat16>(p, {}, nullptr, nullptr);
  cuda::scale_offset_relu<Float16>(p, {}, nullptr, nullptr);
}

// Launches of a training step and of an evaluation, in every precision and with every normalisation, whichever the
// recipe has.
std::vector<emulation::Launch> launches_of(const Recipe& r, data::Size size, std::int64_t images) {
  const model::RpnConfig& rpn = r.model.rpn;
  const model::RoiConfig& roi = r.model.roi;
  std::vector<emulation::Launch> all;
  emulation::record_launches(&all);
  const ProposalParams training = proposals_of(r, size, images, true), testing = proposals_of(r, size, images, false);
  for (const ProposalParams& p : {training, testing}) cuda::proposals(p, {}, {}, nullptr, nullptr);
  const std::int64_t candidates = rpn.post_nms_train + gt_capacity_of(r);
  const MatchParams anchors{.images = images,
      .candidates = training.anchors,
      .gt_capacity = gt_capacity_of(r),
      .shared_candidates = true,
      .allow_low_quality = true};
  const MatchParams rois{
      .images = images, .candidates = candidates, .gt_capacity = gt_capacity_of(r), .high = 0.5f, .low = 0.5f};
  for (const MatchParams& p : {anchors, rois}) cuda::match(p, {}, nullptr, nullptr, nullptr);
  cuda::sample({.images = images, .candidates = training.anchors, .size = rpn.sample}, {}, {}, nullptr, nullptr);
  cuda::sample({.images = images, .candidates = candidates, .size = roi.sample, .positive_fraction = 0.25f}, {}, {},
      nullptr, nullptr);
  cuda::encode_boxes({}, images * roi.sample, nullptr, nullptr, nullptr, nullptr);
  cuda::decode_boxes({}, images * training.anchors, nullptr, nullptr, nullptr, nullptr);
  cuda::nms(rpn.pre_nms_train, nullptr, 0.7f, false, nullptr, nullptr, nullptr, nullptr);
  for (const std::int64_t rows : {images * roi.sample, images * rpn.post_nms_test})
    for (const int pooled : {7, 14}) {
      const RoiAlignParams p = roi_align_of(r, size, rows, images, pooled);
      roi_align_launches<float>(p), roi_align_launches<Bfloat16>(p), roi_align_launches<Float16>(p);
    }
  patch_launches<float>(r, size, images), patch_launches<Bfloat16>(r, size, images);
  const MaxPoolParams stem{
      .images = images, .height = size.height / 2, .width = size.width / 2, .channels = r.model.backbone.width};
  cuda::offset_relu_pool<float>(stem, nullptr, nullptr, nullptr, nullptr);
  cuda::offset_relu_pool<Bfloat16>(stem, nullptr, nullptr, nullptr, nullptr);
  offset_launches({.rows = images * size.height / 4 * size.width / 4, .channels = r.model.backbone.fpn_channels});
  offset_launches({.rows = images * roi.sample * 14 * 14, .channels = roi.mask_channels});
  for (const std::int64_t rows : {images * roi.sample, images * roi.detections})
    mask_logit_launches<float>(r, rows), mask_logit_launches<Bfloat16>(r, rows);
  for (const BatchNormParams& p : norms_of(r, size, images)) norm_launches(p);
  const MaskTargetParams masks{
      .rois = static_cast<std::int64_t>(std::ceil(static_cast<double>(images * roi.sample) * roi.sample_positive)),
      .size = 28,
      .longest_side = std::max(size.height, size.width)};
  cuda::mask_targets_bitmap(masks, {}, nullptr, nullptr);
  cuda::mask_targets_polygon(masks, {}, nullptr, nullptr, nullptr, nullptr);
  cuda::detections(
      {.images = images, .rois = rpn.post_nms_test, .classes = classes_of(r), .detections = roi.detections}, {}, {},
      nullptr, nullptr);
  cuda::count_mask_changes({.masks = roi.detections * images}, {}, nullptr, nullptr);
  cuda::write_mask_changes({.masks = roi.detections * images}, {}, nullptr, nullptr, nullptr);
  cuda::preprocess({.images = images, .height = size.height, .width = size.width, .antialias = r.data.antialias}, {},
      nullptr, nullptr, nullptr);
  const std::int64_t largest = r.model.backbone.fpn_channels * 7 * 7 * roi.box_hidden;  // the box head's first layer
  cuda::sgd({}, nullptr, 180, largest, {}, nullptr);
  cuda::adam({}, nullptr, 180, largest, {}, nullptr);
  cuda::find_nonfinite(nullptr, 45'000'000, nullptr, nullptr);
  cuda::round_bfloat16({}, 1, nullptr, 45'000'000, nullptr, nullptr);
  cuda::squared_norms({.piece = nullptr, .group_begin = nullptr, .pieces = 45'000'000 / kNormPiece, .groups = 10},
      nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  emulation::record_launches(nullptr);
  return all;
}

// The most static shared memory of a kernel (RESOURCES.tsv: kernel, architecture, registers, stack, spilled, shared).
// No launch here needs to know which kernel it belongs to: with the most of all beside its own dynamic part it must
// fit.
std::int64_t most_static_shared() {
  std::ifstream in(TTT_RESOURCES);
  std::int64_t most = 0, rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kernel, architecture;
    std::int64_t registers = 0, stack = 0, spilled = 0, shared = 0;
    if (words >> kernel >> architecture >> registers >> stack >> spilled >> shared)
      most = std::max(most, shared), ++rows;
  }
  EXPECT_GT(rows, 40) << TTT_RESOURCES;
  return most;
}

TEST(Shapes, EveryLaunchOfRecipes_FitsDevices) {
  const std::int64_t statics = most_static_shared();
  ASSERT_GE(embedded_recipes().size(), 3u);
  for (const auto& [name, text] : embedded_recipes()) {
    const Recipe r = recipe_named(name);
    for (const data::Size size : sizes_of(r))
      for (std::int64_t images = 1; images <= 24; ++images) {
        SCOPED_TRACE(
            testing::Message() << name << ", " << images << " images of " << size.height << " x " << size.width);
        const std::vector<emulation::Launch> all = launches_of(r, size, images);
        ASSERT_EQ(all.size(), 311u);
        for (const emulation::Launch& l : all)
          for (const Device& d : kDevices) {
            ASSERT_TRUE(l.grid.x <= d.grid_x && l.grid.y <= d.grid_yz && l.grid.z <= d.grid_yz) << d.capability;
            ASSERT_TRUE(l.block.volume() <= d.threads && l.block.volume() >= 1) << d.capability;
            ASSERT_LE(static_cast<std::int64_t>(l.shared) + statics, d.shared) << d.capability;
          }
      }
  }
}

// The shapes above come from the recipes' files.
TEST(Shapes, Recipes_GiveKnownShapes) {
  const Recipe mlperf = recipe_named("mlperf"), torchvision = recipe_named("torchvision"),
               small = recipe_named("default");
  EXPECT_EQ(sizes_of(mlperf), (std::vector<data::Size>{{800, 1344}, {1344, 800}, {1344, 1344}}));
  EXPECT_EQ(sizes_of(small), (std::vector<data::Size>{{128, 128}}));
  EXPECT_EQ(proposals_of(mlperf, {800, 1344}, 1, true).anchors, 268569);
  EXPECT_EQ(proposals_of(mlperf, {800, 1344}, 1, true).post_nms_batch, 4000);
  EXPECT_TRUE(proposals_of(mlperf, {800, 1344}, 1, true).cut_over_batch);
  EXPECT_EQ(proposals_of(torchvision, {800, 1344}, 1, true).post_nms, 2000);
  EXPECT_EQ(proposals_of(small, {128, 128}, 1, true).pre_nms, 400);
  EXPECT_EQ(small.model.backbone.fpn_channels, 64);
  EXPECT_EQ(norms_of(mlperf, {800, 1344}, 2).back().channels, 2048);
  EXPECT_EQ(norms_of(small, {128, 128}, 2).back().channels, 128);
}

TEST(Shapes, TooManyProposals_Refused) {
  ProposalParams p;
  p.images = 1, p.levels = 1, p.anchors = p.level_start[1] = p.pre_nms = 5000;
  std::vector<emulation::Launch> launches;
  emulation::record_launches(&launches);
  EXPECT_THROW(cuda::proposals(p, {}, {}, nullptr, nullptr), UsageError);
  emulation::record_launches(nullptr);
}

// Scratch memory stays small beside the features: 91 MB an image for P2 .. P5 of mlperf.
TEST(Shapes, Workspaces_StaySmall) {
  const ProposalParams p = proposals_of(recipe_named("mlperf"), {800, 1344}, 24, true);
  EXPECT_LT(cuda::proposals_workspace(p), std::size_t{100} << 20);
  EXPECT_LT(cuda::detections_workspace({.images = 24, .rois = 1000, .classes = 81}), std::size_t{80} << 20);
  EXPECT_LT(cuda::sample_workspace({.images = 24, .candidates = p.anchors, .size = 512}), std::size_t{2} << 20);
}

}  // namespace
}  // namespace ttt::kernels
