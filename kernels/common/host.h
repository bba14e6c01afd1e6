// Host twins of the detection kernels: the specification that tests compare the device with, and what a run on CPUs
// uses. Shapes and fillers are in each comment; parameters in kernels/common/params.h. Deterministic: same input, same bits,
// whatever the number of threads. `pool` spreads the work over its threads; null: the calling thread does it alone.
// Errors: UsageError where parameters contradict each other; array lengths are the caller's promise.
#pragma once

#include <cstdint>

#include "kernels/common/params.h"

namespace ttt {
class ThreadPool;  // core/parallel.h
}

namespace ttt::kernels::host {

using kernels::MaskTargetParams;
using kernels::PolygonView;
using kernels::SgdParams;

// features[l]: [N, H_l, W_l, C]; rois: [R, 4]; roi_image: [R] image index, negative: the row of the output is zero
// out: [R, pooled, pooled, C]
void roi_align_forward(const RoiAlignParams& p, const float* const* features, const float* rois,
                       const std::int32_t* roi_image, float* out, ThreadPool* pool = nullptr);
// grad_out: [R, pooled, pooled, C]; grad_features[l]: [N, H_l, W_l, C], added to (the caller zeroes them)
void roi_align_backward(const RoiAlignParams& p, const float* grad_out, const float* rois,
                        const std::int32_t* roi_image, float* const* grad_features, ThreadPool* pool = nullptr);

// gt: [N, G, 4]; gt_count: [N]; candidates: see MatchParams; visible: [N, A] or null, 0: the result is -2 (straddling
// anchors) matched: [N, A] index of the ground truth, -1 background, -2 ignored
void match(const MatchParams& p, const float* gt, const std::int32_t* gt_count, const float* candidates,
           const std::uint8_t* visible, std::int32_t* matched, ThreadPool* pool = nullptr);

// key: [2] seed, step; matched: [N, A] as above; image_id: [N]; index: [N, size] candidates, positives first (ascending), then negatives
// (ascending), then filler 0; positives, total: [N] how many of each
void sample(const SampleParams& p, const std::int64_t* key, const std::int32_t* matched, const std::int64_t* image_id, std::int32_t* index,
            std::int32_t* positives, std::int32_t* total, ThreadPool* pool = nullptr);

// reference boxes -> targets that move them onto gt: dx, dy, dw, dh. All [n, 4].
void encode_boxes(const BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas);
void decode_boxes(const BoxCoderParams& p, std::int64_t n, const float* deltas, const float* reference, float* boxes);

// logits: [N, A]; deltas: [N, A, 4]; anchors: [A, 4]; image_size: [N, 2] height, width
// boxes: [N, post_nms, 4], scores (logits): [N, post_nms], both in descending order of score, filler 0; count: [N]
void proposals(const ProposalParams& p, const float* logits, const float* deltas, const float* anchors,
               const std::int32_t* image_size, float* boxes, float* scores, std::int32_t* count,
               ThreadPool* pool = nullptr);

// Greedy NMS over boxes in descending order of score. keep: [n] indices into boxes; returns how many.
std::int64_t nms(std::int64_t n, const float* boxes, float threshold, bool legacy, std::int32_t* keep);

// probabilities: [N, R, classes] (softmax); deltas: [N, R, classes, 4]; rois: [N, R, 4]; roi_count: [N]; image_size:
// [N, 2] boxes: [N, detections, 4], score, label: [N, detections] descending score, filler 0; count: [N]
void detections(const DetectionParams& p, const float* probabilities, const float* deltas, const float* rois,
                const std::int32_t* roi_count, const std::int32_t* image_size, float* boxes, float* score,
                std::int32_t* label, std::int32_t* count, ThreadPool* pool = nullptr);

// Mask targets from bitmaps, as torchvision's project_masks_on_boxes: RoIAlign (adaptive sampling, not aligned) of the
// whole-image 0/1 bitmap. bitmap_box: [objects, 4] x0, y0, w, h; bitmap_offset: [objects] into bytes; object: [R] index
// or negative (zeros); rois: [R, 4] image_height/width: [R] extent of the bitmap's image (samples beyond it are treated
// as RoIAlign treats the border) out: [R, size, size]
void mask_targets_bitmap(const MaskTargetParams& p, const std::uint8_t* bytes, const std::int64_t* bitmap_offset,
                         const std::int32_t* bitmap_box, const std::int32_t* object, const float* rois,
                         const std::int32_t* image_height, const std::int32_t* image_width, float* out,
                         ThreadPool* pool = nullptr);

// Mask targets from polygons, as MLPerf's reference: an object's polygons are moved by -(x1, y1) of the RoI, scaled by
// size / max(side, 1) in float32, filled by COCO's rule (pycocotools' frPoly) on a size x size grid and united: 0 or 1.
// Arrays as in data/host_batch.h; polygons of fewer than three vertices are skipped; object and out as above.
void mask_targets_polygon(const MaskTargetParams& p, const PolygonView& polygons, const std::int32_t* object,
                          const float* rois, float* out, ThreadPool* pool = nullptr);

// images: [images, height, width, 3], zero outside each image's own extent. values: [3, 256] what a byte becomes, by channel of the output. The results are
// data::ImageTransform's to the bit (see there for the rules of the resize).
void place_images(const PlaceImagesParams& p, const RawImagesView& view, const float* values, float* images, ThreadPool* pool = nullptr);

// Paste: a size x size probability map onto its box, thresholded at 0.5, as a row-major 0/1 bitmap of the touched
// pixels. torchvision's paste_masks_in_image (pad 1, expand the box, bilinear, align_corners=false). Returns the
// touched box x0, y0, w, h clipped to the image in `box_out`; bits must hold w * h <= capacity bytes.
void paste_mask(int size, const float* mask, const float* box, std::int64_t image_height, std::int64_t image_width,
                std::int32_t* box_out, std::uint8_t* bits, std::int64_t capacity);

// SGD with momentum over a flat range (Sutskever et al. 2013 as in PyTorch: v = momentum v + g + wd w; w -= lr v).
// All [n]. Deterministic, in place. grad is scaled by grad_scale first (1 / ranks).
void sgd(const SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight);
// The same over tensors: [count], with lr * lr_factor. largest, the size of the largest, is for the device's twin.
void sgd(float momentum, const SgdTensor* tensors, std::int64_t count, std::int64_t largest, const SgdControl& control);
// found: [1], set to 1 where a gradient is infinite or NaN, else left alone.
void find_nonfinite(const SgdTensor* tensors, std::int64_t count, std::int64_t largest, std::int32_t* found);

// out: [groups], over flat arrays of gradients, weights before and weights after. In double precision: gradients of 1e-20 count, and the sum's error does
// not grow with the number of parameters. The order of the additions, 32 sums side by side in each piece and again over a group's pieces, is the device's.
void squared_norms(const NormGroups& groups, const float* gradient, const float* before, const float* after, SquaredNorms* out);

}  // namespace ttt::kernels::host
