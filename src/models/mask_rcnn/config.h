// Every number of the model. Two published variants are values of these fields, not forks of code:
// MLPerf's reference (legacy boxes, frozen norm, stride in the 1x1) and torchvision's maskrcnn_resnet50_fpn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/mask_rcnn/box_losses/kinds.h"
#include "settings/fields.h"

namespace ttt::model {

struct BackboneConfig {
  std::string block = "bottleneck";
  std::vector<std::int64_t> blocks = {3, 4, 6, 3};
  std::int64_t width = 64;
  bool stride_in_1x1 = false;
  std::string init = "kaiming_normal";
  std::string norm = "batch";
  double norm_eps = 1e-5;
  double norm_momentum = 0.1;
  std::int64_t norm_groups = 32;
  std::int64_t freeze_at = 0;
  std::int64_t fpn_channels = 256;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("block", s.block, "residual block: basic (two 3x3) or bottleneck (1x1, 3x3, 1x1)",
        one_of({"basic", "bottleneck"}));
    v("blocks", s.blocks, "residual blocks of the four stages", between(1, 256).count(4, 4));
    // With 4 channels, oneDNN of torch 2.11 can wait for ever on CPUs that have AVX2 alone. Its weight gradient of a
    // 1x1 convolution of stride 2 then writes beyond its workspace. With 8 channels it is right.
    v("width", s.width, "channels of the stem; stage i has width * 2^i (times 4 for bottlenecks)", between(8, 4096));
    v("stride_in_1x1", s.stride_in_1x1,
        "a bottleneck strides in its first 1x1 (MSRA, MLPerf) instead of its 3x3 (torchvision)");
    v("init", s.init,
        "initial convolutions: kaiming_normal (fan out, as torchvision's ResNet) or kaiming_uniform (fan in, a = "
        "sqrt(5): torch.nn.Conv2d's default, a third to a half as large and so, before a normalisation, quicker to "
        "turn)",
        one_of({"kaiming_normal", "kaiming_uniform"}));
    v("norm", s.norm, "normalisation after each convolution of the backbone",
        one_of({"frozen", "batch", "sync", "group"}));
    v("norm_eps", s.norm_eps, "added to the variance; MLPerf's frozen norm has none", between(0, 1));
    v("norm_momentum", s.norm_momentum, "weight of a batch in the running statistics", between(0, 1));
    v("norm_groups", s.norm_groups, "groups of norm = group", between(1, 4096));
    v("freeze_at", s.freeze_at,
        "stages whose parameters do not train: 1 the stem, 2 also the first residual stage, ...", between(0, 5));
    v("fpn_channels", s.fpn_channels, "channels of every pyramid level", between(1, 4096));
  }
};

struct RpnConfig {
  std::vector<std::int64_t> anchor_sizes = {32, 64, 128, 256, 512};
  std::vector<double> anchor_ratios = {0.5, 1.0, 2.0};
  bool stride_from_grid = true;
  bool drop_straddling = false;
  double match_high = 0.7, match_low = 0.3;
  std::int64_t sample = 256;
  double sample_positive = 0.5;
  std::int64_t pre_nms_train = 2000, pre_nms_test = 1000;
  std::int64_t post_nms_train = 2000, post_nms_test = 1000;
  bool cut_over_batch = false;
  bool cut_per_level = false;
  double nms_threshold = 0.7;
  double min_size = 1e-3;
  std::string box_loss = "smooth_l1";
  double box_loss_weight = 1;
  double smooth_l1_beta = 1.0 / 9;
  double label_smoothing = 0;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("anchor_sizes", s.anchor_sizes, "side of the square anchor of P2 .. P6 [pixel]", between(1, 16384).count(5, 5));
    v("anchor_ratios", s.anchor_ratios, "height / width of the anchors", between(0.01, 100).count(1, 16));
    v("stride_from_grid", s.stride_from_grid,
        "anchor stride = image size / grid size, rounded down (torchvision), else 4, 8, ... 64");
    v("drop_straddling", s.drop_straddling, "anchors that leave the image take no part in training");
    v("match_high", s.match_high, "an anchor is positive from this IoU on", between(0, 1));
    v("match_low", s.match_low, "an anchor is negative below this IoU", between(0, 1));
    v("sample", s.sample, "anchors in the loss, per image", between(1, 65536));
    v("sample_positive", s.sample_positive, "at most this fraction of them positive", between(0, 1));
    v("pre_nms_train", s.pre_nms_train, "highest logits kept per level and image before NMS, training",
        between(1, 65536));
    v("pre_nms_test", s.pre_nms_test, "the same in evaluation", between(1, 65536));
    v("post_nms_train", s.post_nms_train,
        "proposals kept after NMS, training (per image, or per batch with cut_over_batch)", between(1, 65536));
    v("post_nms_test", s.post_nms_test, "proposals kept after NMS per image, evaluation", between(1, 65536));
    v("cut_over_batch", s.cut_over_batch,
        "in training post_nms_train counts over all images of a rank's batch (MLPerf's reference)");
    v("cut_per_level", s.cut_per_level,
        "post_nms_* is also the limit of each level before levels are joined (MLPerf's reference)");
    v("nms_threshold", s.nms_threshold, "IoU above which the lower proposal is dropped", between(0, 1));
    v("min_size", s.min_size, "proposals with a shorter side are dropped [pixel]", between(0, 16384));
    v("box_loss", s.box_loss, "loss of the proposals' boxes" TTT_BOX_LOSSES(TTT_CHOICE_DOC),
        one_of({TTT_BOX_LOSSES(TTT_CHOICE_NAME)}));
    v("box_loss_weight", s.box_loss_weight, "factor of that loss in the sum", between(0, 1e6));
    v("smooth_l1_beta", s.smooth_l1_beta, "where smooth L1 turns linear", between(0, 1000));
    v("label_smoothing", s.label_smoothing,
        "objectness is trained to 1 - half of this, and to half of this (Szegedy et al. 2016)", between(0, 1));
  }
};

struct RoiConfig {
  double match_iou = 0.5;
  std::int64_t sample = 512;
  double sample_positive = 0.25;
  std::int64_t box_hidden = 1024;
  std::int64_t mask_channels = 256;
  std::int64_t mask_layers = 4;
  std::vector<double> box_weights = {10, 10, 5, 5};
  std::string box_loss = "smooth_l1";
  double box_loss_weight = 1;
  double smooth_l1_beta = 1.0 / 9;
  double label_smoothing = 0;
  std::string mask_target = "bitmap";
  std::string init = "torchvision";
  double score_threshold = 0.05, nms_threshold = 0.5;
  std::int64_t detections = 100;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("match_iou", s.match_iou, "a proposal is positive from this IoU on, else background", between(0, 1));
    v("sample", s.sample, "proposals in the loss, per image", between(1, 65536));
    v("sample_positive", s.sample_positive, "at most this fraction of them positive", between(0, 1));
    v("box_hidden", s.box_hidden, "width of the box head's two linear layers", between(1, 65536));
    v("mask_channels", s.mask_channels, "channels of the mask head", between(1, 4096));
    v("mask_layers", s.mask_layers, "3x3 convolutions of the mask head", between(0, 64));
    v("box_weights", s.box_weights,
        "factors of the regression's dx, dy, dw, dh: twice as large weighs errors of a box twice",
        between(1e-3, 1e6).count(4, 4));
    v("box_loss", s.box_loss, "loss of the detections' boxes" TTT_BOX_LOSSES(TTT_CHOICE_DOC),
        one_of({TTT_BOX_LOSSES(TTT_CHOICE_NAME)}));
    v("box_loss_weight", s.box_loss_weight, "factor of that loss in the sum", between(0, 1e6));
    v("smooth_l1_beta", s.smooth_l1_beta, "where smooth L1 of the boxes turns linear: 1 (MLPerf), 1/9 (torchvision)",
        between(0, 1000));
    v("label_smoothing", s.label_smoothing,
        "share of the classifier's target that all classes have alike (Szegedy et al. 2016)", between(0, 1));
    v("mask_target", s.mask_target, "28x28 targets from bitmaps (torchvision, soft) or polygons (MLPerf, binary)",
        one_of({"bitmap", "polygon"}));
    v("init", s.init, "initialisation of the heads", one_of({"torchvision", "detectron"}));
    v("score_threshold", s.score_threshold, "detections need a higher score", between(0, 1));
    v("nms_threshold", s.nms_threshold, "IoU above which the lower detection of a class is dropped", between(0, 1));
    v("detections", s.detections, "detections kept per image", between(1, 65536));
  }
};

struct ModelConfig {
  std::int64_t classes = 0;
  bool legacy_boxes = false;
  std::string precision = "fp32";
  std::string shapes = "static";
  std::string loss_mean = "rank";
  BackboneConfig backbone;
  RpnConfig rpn;
  RoiConfig roi;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("classes", s.classes, "object classes and the background; 0: the data set's categories + 1", between(0, 10000));
    v("legacy_boxes", s.legacy_boxes,
        "a box covers x2 - x1 + 1 pixels in areas, IoU, NMS and regression (Detectron, MLPerf), and Detectron's "
        "anchors");
    v("precision", s.precision,
        "of convolutions and matrix products: fp32; tf32 (float32 rounded to 10 bits before they multiply, NVIDIA "
        "GPUs); "
        "bf16 or fp16, where activations are kept so too (weights, sums, losses and the own kernels stay float32; fp16 "
        "scales the loss)",
        one_of({"fp32", "tf32", "bf16", "fp16"}));
    v("shapes", s.shapes,
        "the mask branch runs over a fixed number of rows (static: no question to the device), over the least quarter "
        "of it that holds the positives (quarters: the host asks while the box branch runs) or over the positives only "
        "(dynamic: the device waits for the host)",
        one_of({"static", "quarters", "dynamic"}));
    v("loss_mean", s.loss_mean,
        "losses are means over a rank's samples, then averaged over ranks (rank: the references), or over all ranks' "
        "samples (global: independent of the number of ranks)",
        one_of({"rank", "global"}));
    v("backbone", s.backbone, "ResNet and feature pyramid");
    v("rpn", s.rpn, "region proposal network");
    v("roi", s.roi, "box and mask heads");
  }
};

}  // namespace ttt::model
