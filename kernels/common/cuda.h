// Detection and optimiser kernels for CUDA: the functions of kernels/common/host.h with the same names, parameters and
// results. Shapes, fillers and rules are written there; here stands what differs:
//
//   - pointers are the device's; work is put on `stream`, nothing is waited for and nothing is asked of the device;
//   - scratch memory is the caller's: `workspace` of as many bytes as <name>_workspace(p) says, aligned to 256, its contents
//     of no account before and after;
//   - counts are trusted: what the host twin refuses because of a value in an array is cut to the capacity;
//   - results are the host twin's to the bit (but for log2f in the choice of a RoI's level, where a device's may round a
//     RoI of a size between two levels to the other one), and the same at every run: no result depends on the order of threads.
//
// Errors: UsageError where parameters contradict each other or a kernel would not fit a device, Error where it does not start.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/float16.h"
#include "kernels/common/params.h"

namespace ttt::kernels::cuda {

// features: host array of device pointers. T: float, Bfloat16 or Float16; sums are in float32 whichever, rounded to T once.
template <class T>
void roi_align_forward(const RoiAlignParams& p, const T* const* features, const float* rois, const std::int32_t* roi_image, T* out, cudaStream_t stream);
// The host twin's sums in the host twin's order: each feature pixel has one owner, who visits the RoIs in turn; no atomics. At
// most 32 bins on a side. (Where a RoI is turned inside out and p.aligned, two of its samples' weights are added before the
// product instead of after.)
std::size_t roi_align_backward_workspace(const RoiAlignParams& p);
template <class T>
void roi_align_backward(const RoiAlignParams& p, const T* grad_out, const float* rois, const std::int32_t* roi_image, T* const* grad_features,
                        void* workspace, cudaStream_t stream);

std::size_t match_workspace(const MatchParams& p);
void match(const MatchParams& p, const float* gt, const std::int32_t* gt_count, const float* candidates, const std::uint8_t* visible,
           std::int32_t* matched, void* workspace, cudaStream_t stream);

std::size_t sample_workspace(const SampleParams& p);
void sample(const SampleParams& p, const std::int64_t* key, const std::int32_t* matched, const std::int64_t* image_id, std::int32_t* index, std::int32_t* positives,
            std::int32_t* total, void* workspace, cudaStream_t stream);

void encode_boxes(const BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas, cudaStream_t stream);
void decode_boxes(const BoxCoderParams& p, std::int64_t n, const float* deltas, const float* reference, float* boxes, cudaStream_t stream);

// At most 4096 boxes; count: [1], how many of keep are set.
std::size_t nms_workspace(std::int64_t n);
void nms(std::int64_t n, const float* boxes, float threshold, bool legacy, std::int32_t* keep, std::int32_t* count, void* workspace,
         cudaStream_t stream);

// pre_nms at most 4096.
std::size_t proposals_workspace(const ProposalParams& p);
void proposals(const ProposalParams& p, const float* logits, const float* deltas, const float* anchors, const std::int32_t* image_size, float* boxes,
               float* scores, std::int32_t* count, void* workspace, cudaStream_t stream);

// At most 4096 RoIs an image.
std::size_t detections_workspace(const DetectionParams& p);
void detections(const DetectionParams& p, const float* probabilities, const float* deltas, const float* rois, const std::int32_t* roi_count,
                const std::int32_t* image_size, float* boxes, float* score, std::int32_t* label, std::int32_t* count, void* workspace,
                cudaStream_t stream);

// longest_side: of any object's bitmap [pixel]; the weights of its rows and columns lie in shared memory, which takes 6000.
void mask_targets_bitmap(const MaskTargetParams& p, std::int64_t longest_side, const std::uint8_t* bytes, const std::int64_t* bitmap_offset,
                         const std::int32_t* bitmap_box, const std::int32_t* object, const float* rois, const std::int32_t* image_height,
                         const std::int32_t* image_width, float* out, cudaStream_t stream);
// polygons: its members are device pointers.
void mask_targets_polygon(const MaskTargetParams& p, const PolygonView& polygons, const std::int32_t* object, const float* rois, float* out,
                          cudaStream_t stream);

// The host twin's paste_mask and COCO's run-length encoding (coco/rle.h) in one, for many masks: masks [masks, size, size], boxes [masks, 4], image_size
// [masks, 2] height, width. Positions, column by column, at which the pasted bit differs from the pixel before, the first from 0: the sums of COCO's run
// lengths, but for the last run. Those of mask i are changes[begin[i]] to changes[begin[i + 1]]. A box that is not finite, or beyond 1e8, pastes nothing.
// Images have less than 2^31 pixels.
struct MaskChangesParams {
  int size = 28;
  std::int64_t masks = 0;
};
// begin: [masks + 1]; the last says how much memory `changes` takes.
void count_mask_changes(const MaskChangesParams& p, const float* masks, const float* boxes, const std::int32_t* image_size, std::int32_t* begin, cudaStream_t stream);
void write_mask_changes(const MaskChangesParams& p, const float* masks, const float* boxes, const std::int32_t* image_size, const std::int32_t* begin,
                        std::int32_t* changes, cudaStream_t stream);

// images: [images, height, width, 3]. view: its members are device pointers. values: [3, 256] what a byte becomes, by channel of the output.
void place_images(const PlaceImagesParams& p, const RawImagesView& view, const float* values, float* images, cudaStream_t stream);

// All tensors in one launch of blocks for the largest: tensors of about one size waste none. tensors: [count] in memory of the device.
void sgd(float momentum, const SgdTensor* tensors, std::int64_t count, std::int64_t largest, const SgdControl& control, cudaStream_t stream);
// found: [1], set to 1 where a gradient is infinite or NaN, else left alone.
void find_nonfinite(const SgdTensor* tensors, std::int64_t count, std::int64_t largest, std::int32_t* found, cudaStream_t stream);

// groups: its members are device pointers. partial: [pieces], scratch.
void squared_norms(const NormGroups& groups, const float* gradient, const float* before, const float* after, SquaredNorms* partial, SquaredNorms* out,
                   cudaStream_t stream);

}  // namespace ttt::kernels::cuda
