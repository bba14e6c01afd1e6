// Parameters of the detection kernels, shared by the CUDA kernels (kernels/cuda/<name>.cu) and their host
// twins (kernels/host).
//
// Layouts: features are NHWC (channels last) float32. Boxes are x1, y1, x2, y2 float32 in pixels of the padded image.
// "legacy" is the box convention of Detectron and MLPerf's reference: a box covers x2 - x1 + 1 pixels.
// Every array has the stated fixed shape; entries beyond a count hold the stated filler. No kernel allocates memory the
// caller sees, and none asks the device a question.
#pragma once

#include <cstdint>

namespace ttt::kernels {

inline constexpr int kMaxLevels = 8;

// RoIAlign over a feature pyramid (He et al. 2017; Lin et al. 2017 for the level). Level of a RoI:
// clamp(floor(4 + log2(sqrt(area) / 224) + 1e-6), min_level, min_level + levels - 1), as torchvision; with one level
// always that one. A RoI with a NaN or infinite coordinate gives zeros and takes no gradient.
struct RoiAlignParams {
  int levels = 1;
  int min_level = 2;                // pyramid level of features[0]: P2
  std::int64_t height[kMaxLevels];  // of each feature map
  std::int64_t width[kMaxLevels];
  float scale[kMaxLevels];  // feature pixels per image pixel
  std::int64_t images = 0, channels = 0, rois = 0;
  int pooled = 7;            // output is pooled x pooled
  int sampling_ratio = 2;    // samples per bin and axis; 0: ceil(roi size / pooled), as torchvision's -1
  bool aligned = false;      // true: shift by half a pixel, no minimum size
  bool legacy_area = false;  // maskrcnn-benchmark's level: + 1 in the area's sides, and the eps inside the logarithm
  float canonical_size = 224.0f;
  int canonical_level = 4;
};

// Anchors or proposals against ground truth (Ren et al. 2015). For each image n: candidate i gets the index of the
// ground truth of highest IoU (first of equals) if that is >= high, -1 if it is < low, -2 in between.
// allow_low_quality: also every candidate tied for a ground truth's best IoU gets its own argmax back (torchvision's
// and Detectron's rule).
struct MatchParams {
  std::int64_t images = 0, candidates = 0, gt_capacity = 0;
  bool shared_candidates = false;  // candidates is [candidates, 4] for all images, else [images, candidates, 4]
  float high = 0.7f, low = 0.3f;
  bool allow_low_quality = false;
  bool legacy = false;
};

// A fixed-size random subset: at most size * positive_fraction positives, then negatives up to `size`
// (torchvision's BalancedPositiveNegativeSampler). Which ones: those of smallest random_bits(seed, purpose, step,
// image_id, candidate), where seed and step are read from memory, [2] int64: a captured step that is replayed draws anew.
struct SampleParams {
  std::int64_t images = 0, candidates = 0;
  std::int64_t size = 256;
  float positive_fraction = 0.5f;
  std::uint64_t purpose = 0;
};

// Box regression targets and their inverse (Girshick 2015).
struct BoxCoderParams {
  float wx = 1, wy = 1, ww = 1, wh = 1;
  float clamp = 4.135166556742356f;  // log(1000 / 16)
  bool legacy = false;
};

// Proposals from the RPN's outputs: per level the pre_nms highest logits, decoded and clipped, small ones dropped, NMS
// per level, then the highest of all levels.
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

// Detections of one batch: softmax scores and class boxes -> per-class NMS -> the best `detections` of each image.
struct DetectionParams {
  std::int64_t images = 0, rois = 0, classes = 0;  // classes counts the background (class 0)
  float score_threshold = 0.05f, nms_threshold = 0.5f, min_size = 1e-2f;
  std::int64_t detections = 100;
  BoxCoderParams coder;  // weights 10, 10, 5, 5
};

struct MaskTargetParams {
  std::int64_t rois = 0;
  int size = 28;
};

// Outlines of objects, as in data/host_batch.h.
struct PolygonView {
  const std::int32_t* object_polygon;  // [objects + 1] into polygon_vertex
  const std::int32_t* polygon_vertex;  // [polygons + 1] into vertices
  const float* vertices;               // [vertices, 2] x, y
};

// From images as their files have them to a batch: resize, flip, normalise, pad.
struct PlaceImagesParams {
  std::int64_t images = 0, height = 0, width = 0;  // of the batch
  bool antialias = false;                          // where an axis shrinks
  bool bgr = false;                                // order of the output's channels
};
// The arrays of data::RawImages, and what else of a batch it takes. Images of no bytes are black.
struct RawImagesView {
  const std::uint8_t* bytes;        // rows of red, green, blue
  const std::int64_t* offset;       // [images] into bytes
  const std::int32_t* size;         // [images, 2] height, width
  const std::int32_t* placed_size;  // [images, 2] after the resize, inside the batch's
  const std::uint8_t* flipped;      // [images]
};

// Normalisation over rows = N * H * W of channels-last memory, with the ReLU behind it.
struct BatchNormParams {
  std::int64_t rows = 0, channels = 0;
  float eps = 1e-5f;
  bool relu = true;
};

struct SgdParams {
  float lr = 0, momentum = 0.9f, weight_decay = 0, grad_scale = 1;
};

// What changes from step to step, in the memory of the weights: a captured step that is replayed reads it anew.
struct SgdControl {
  const float* lr;           // [1]
  const float* grad_scale;   // [1]
  const std::int32_t* skip;  // [1] not 0: nothing is changed; or null
};
// One of the tensors that an update runs over.
struct SgdTensor {
  const float* grad;
  float *momentum, *weight;
  std::int64_t size;
  float lr_factor, weight_decay;
};

// Where squares are summed: the flat parameters in pieces, by groups of layers.
inline constexpr std::int64_t kNormPiece = 1024;
struct NormPiece {
  std::int64_t begin, size;  // in the flat parameters; at most kNormPiece of them
};
struct NormGroups {
  const NormPiece* piece;           // [pieces] those of a group one after the other
  const std::int64_t* group_begin;  // [groups + 1] a group's first piece; the last is `pieces`
  std::int64_t pieces, groups;
};
// Sums of squares: of gradients, of weights after an update, of what it added to them.
struct SquaredNorms {
  double gradient, weight, change;
};

}  // namespace ttt::kernels
