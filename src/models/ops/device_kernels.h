// kernels/cuda as kernel_ops.h wants them: scratch memory from torch's allocator, work on the stream that torch uses at the time.
//
// Nothing here belongs to a run time: a test compiles it against an emulation of the device.
#pragma once

#include <ATen/ops/empty.h>

#include "core/error.h"
#include "kernels/batch_norm/cuda.h"
#include "kernels/common/cuda.h"
#include "models/ops/kernel_ops.h"

namespace ttt::model {

class DeviceKernels {
 public:
  // current_stream: torch's, of `device`.
  DeviceKernels(at::Device device, std::function<cudaStream_t()> current_stream) : device_(device), current_stream_(std::move(current_stream)) {}
  at::Device device() const { return device_; }

  static constexpr bool kRoiAligns16Bit = true;
  template <class T>
  void roi_align_forward(const kernels::RoiAlignParams& p, const T* const* features, const float* rois, const std::int32_t* roi_image, T* out) const {
    kernels::cuda::roi_align_forward(p, features, rois, roi_image, out, stream());
  }
  template <class T>
  void roi_align_backward(const kernels::RoiAlignParams& p, const T* grad_out, const float* rois, const std::int32_t* roi_image, T* const* grad_features) const {
    const at::Tensor scratch = bytes(kernels::cuda::roi_align_backward_workspace(p));
    kernels::cuda::roi_align_backward(p, grad_out, rois, roi_image, grad_features, scratch.mutable_data_ptr(), stream());
  }
  template <class T>
  void scale_offset_relu(const kernels::BatchNormParams& p, const float* scale, const float* offset, const T* residual, T* x) const {
    kernels::cuda::scale_offset_relu(p, x, scale, offset, residual, x, stream());
  }
  std::int64_t batch_norm_forward(const kernels::BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual, float* y,
                                  float* mean, float* variance, float* rstd, comm::Communicator* sync) const {
    const at::Tensor scratch = bytes(kernels::cuda::batch_norm_workspace(p));
    kernels::cuda::batch_norm_forward(p, x, weight, bias, residual, y, mean, variance, rstd, scratch.mutable_data_ptr(), stream(), sum_over(sync));
    return p.rows * (sync ? sync->size() : 1);  // on a device all ranks' batches are of one size (check_norm)
  }
  void batch_norm_backward(const kernels::BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                           const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias, comm::Communicator* sync) const {
    const at::Tensor scratch = bytes(kernels::cuda::batch_norm_workspace(p));
    kernels::cuda::batch_norm_backward(p, grad_y, x, y, weight, mean, rstd, grad_x, grad_residual, grad_weight, grad_bias, scratch.mutable_data_ptr(), stream(), sum_over(sync));
  }
  void match(const kernels::MatchParams& p, const float* gt, const std::int32_t* gt_count, const float* candidates, const std::uint8_t* visible,
             std::int32_t* matched) const {
    const at::Tensor scratch = bytes(kernels::cuda::match_workspace(p));
    kernels::cuda::match(p, gt, gt_count, candidates, visible, matched, scratch.mutable_data_ptr(), stream());
  }
  void sample(const kernels::SampleParams& p, const std::int64_t* key, const std::int32_t* matched, const std::int64_t* image_id, std::int32_t* index, std::int32_t* positives,
              std::int32_t* total) const {
    const at::Tensor scratch = bytes(kernels::cuda::sample_workspace(p));
    kernels::cuda::sample(p, key, matched, image_id, index, positives, total, scratch.mutable_data_ptr(), stream());
  }
  void encode_boxes(const kernels::BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas) const {
    kernels::cuda::encode_boxes(p, n, gt, reference, deltas, stream());
  }
  void proposals(const kernels::ProposalParams& p, const float* logits, const float* deltas, const float* anchors, const std::int32_t* image_size, float* boxes,
                 float* scores, std::int32_t* count) const {
    const at::Tensor scratch = bytes(kernels::cuda::proposals_workspace(p));
    kernels::cuda::proposals(p, logits, deltas, anchors, image_size, boxes, scores, count, scratch.mutable_data_ptr(), stream());
  }
  void detections(const kernels::DetectionParams& p, const float* probabilities, const float* deltas, const float* rois, const std::int32_t* roi_count,
                  const std::int32_t* image_size, float* boxes, float* score, std::int32_t* label, std::int32_t* count) const {
    const at::Tensor scratch = bytes(kernels::cuda::detections_workspace(p));
    kernels::cuda::detections(p, probabilities, deltas, rois, roi_count, image_size, boxes, score, label, count, scratch.mutable_data_ptr(), stream());
  }
  void mask_targets_bitmap(const kernels::MaskTargetParams& p, std::int64_t longest_side, const std::uint8_t* bitmap_bytes, const std::int64_t* bitmap_offset,
                           const std::int32_t* bitmap_box, const std::int32_t* object, const float* rois, const std::int32_t* image_height,
                           const std::int32_t* image_width, float* out) const {
    kernels::cuda::mask_targets_bitmap(p, longest_side, bitmap_bytes, bitmap_offset, bitmap_box, object, rois, image_height, image_width, out, stream());
  }
  void mask_targets_polygon(const kernels::MaskTargetParams& p, const kernels::PolygonView& polygons, const std::int32_t* object, const float* rois,
                            float* out) const {
    kernels::cuda::mask_targets_polygon(p, polygons, object, rois, out, stream());
  }
  std::vector<coco::Rle> encode_masks(const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size) const {
    const kernels::cuda::MaskChangesParams p{.size = static_cast<int>(masks.size(1)), .masks = masks.size(0)};
    for (std::int64_t i = 0; i < p.masks; ++i)
      if (const std::int64_t height = ints(image_size)[2 * i], width = ints(image_size)[2 * i + 1]; height * width > INT32_MAX)
        throw NotSupported("An image of " + std::to_string(height) + " x " + std::to_string(width) + " pixels has too many for a device's masks. Take it out of the data set.");
    const at::Tensor box = boxes.to(device_), extent = image_size.to(device_), begin = at::empty({p.masks + 1}, extent.options());
    kernels::cuda::count_mask_changes(p, floats(masks), floats(box), ints(extent), begin.mutable_data_ptr<std::int32_t>(), stream());
    const at::Tensor first = begin.to(at::kCPU), changes = at::empty({ints(first)[p.masks]}, extent.options());
    kernels::cuda::write_mask_changes(p, floats(masks), floats(box), ints(extent), ints(begin), changes.mutable_data_ptr<std::int32_t>(), stream());
    const at::Tensor positions = changes.to(at::kCPU);
    std::vector<coco::Rle> out;
    for (std::int64_t i = 0; i < p.masks; ++i) {
      coco::Rle& rle = out.emplace_back(coco::Rle{static_cast<std::uint32_t>(ints(image_size)[2 * i]), static_cast<std::uint32_t>(ints(image_size)[2 * i + 1]), {}});
      std::uint32_t last = 0;
      const auto run_to = [&](std::uint32_t position) { rle.counts.push_back(position - last), last = position; };
      for (std::int32_t k = ints(first)[i]; k < ints(first)[i + 1]; ++k) run_to(static_cast<std::uint32_t>(ints(positions)[k]));
      run_to(rle.height * rle.width);
    }
    return out;
  }
  void place_images(const kernels::PlaceImagesParams& p, const kernels::RawImagesView& view, const float* values, float* images) const {
    kernels::cuda::place_images(p, view, values, images, stream());
  }

 private:
  cudaStream_t stream() const { return current_stream_(); }
  at::Tensor bytes(std::size_t n) const { return at::empty({static_cast<std::int64_t>(n)}, at::TensorOptions(at::kByte).device(device_)); }
  static kernels::cuda::SumOverRanks sum_over(comm::Communicator* sync) {
    if (!sync) return {};
    return [sync](double* values, std::size_t count) { sync->all_reduce_sum(values, count); };
  }

  at::Device device_;
  std::function<cudaStream_t()> current_stream_;
};

}  // namespace ttt::model
