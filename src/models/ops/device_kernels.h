// The kernels of kernels/<op>/cuda*.cu as kernel_ops.h wants them: scratch memory from torch's allocator, work on
// torch's current stream. Without the CUDA toolkit's headers, so that a test compiles it against an emulation of the
// device.
#pragma once

#include <ATen/ops/empty.h>

#include "core/error.h"
#include "kernels/nonfinite/nonfinite.h"
#include "kernels/paste/paste.h"
#include "models/ops/kernel_ops.h"
#include "models/ops/parameter_kernels.h"

namespace ttt::model {

namespace cuda = kernels::cuda;

class DeviceKernels {
 public:
  // current_stream: torch's, of `device`.
  DeviceKernels(at::Device device, std::function<cudaStream_t()> current_stream)
      : device_(device), current_stream_(std::move(current_stream)) {}
  at::Device device() const { return device_; }

  static constexpr bool kGathers16Bit = true;
  void roi_align_forward(const auto&... a) const { cuda::roi_align_forward(a..., stream()); }
  void roi_align_backward(const auto& p, const auto&... a) const {
    cuda::roi_align_backward(p, a..., scratch(cuda::roi_align_backward_workspace(p)).mutable_data_ptr(), stream());
  }
  void patches_forward(const auto&... a) const { cuda::patches_forward(a..., stream()); }
  void patches_backward(const auto&... a) const { cuda::patches_backward(a..., stream()); }
  void mask_logits_forward(const auto&... a) const { cuda::mask_logits_forward(a..., stream()); }
  void mask_logits_backward(const auto& p, const auto&... a) const {
    cuda::mask_logits_backward(p, a..., scratch(cuda::mask_logits_backward_workspace(p)).mutable_data_ptr(), stream());
  }
  void scale_offset_relu(const auto&... a) const { cuda::scale_offset_relu(a..., stream()); }
  void offset_relu_pool(const auto&... a) const { cuda::offset_relu_pool(a..., stream()); }
  void offset_gradient(const auto& p, const auto&... a) const {
    cuda::offset_gradient(p, a..., scratch(cuda::offset_gradient_workspace(p)).mutable_data_ptr(), stream());
  }
  std::int64_t batch_norm_forward(const auto& p, const auto& in, const auto& out, comm::Communicator* sync) const {
    const at::Tensor workspace = scratch(cuda::batch_norm_workspace(p));
    cuda::batch_norm_forward(p, in, out, workspace.mutable_data_ptr(), stream(), sum_over(sync));
    return p.rows * (sync ? sync->size() : 1);  // on a device all ranks' batches are of one size (check_norm)
  }
  void batch_norm_backward(const auto& p, const auto& in, const auto& out, comm::Communicator* sync) const {
    const at::Tensor workspace = scratch(cuda::batch_norm_workspace(p));
    cuda::batch_norm_backward(p, in, out, workspace.mutable_data_ptr(), stream(), sum_over(sync));
  }
  void match(const auto& p, const auto&... a) const {
    cuda::match(p, a..., scratch(cuda::match_workspace(p)).mutable_data_ptr(), stream());
  }
  void sample(const auto& p, const auto&... a) const {
    cuda::sample(p, a..., scratch(cuda::sample_workspace(p)).mutable_data_ptr(), stream());
  }
  void encode_boxes(const auto&... a) const { cuda::encode_boxes(a..., stream()); }
  void proposals(const auto& p, const auto&... a) const {
    cuda::proposals(p, a..., scratch(cuda::proposals_workspace(p)).mutable_data_ptr(), stream());
  }
  void detections(const auto& p, const auto&... a) const {
    cuda::detections(p, a..., scratch(cuda::detections_workspace(p)).mutable_data_ptr(), stream());
  }
  void mask_targets_bitmap(const auto&... a) const { cuda::mask_targets_bitmap(a..., stream()); }
  void mask_targets_polygon(const auto&... a) const { cuda::mask_targets_polygon(a..., stream()); }
  void preprocess(const auto&... a) const { cuda::preprocess(a..., stream()); }
  std::vector<coco::Rle> encode_masks(
      const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size) const {
    const kernels::MaskChangesParams p{.size = static_cast<int>(masks.size(1)), .masks = masks.size(0)};
    for (std::int64_t i = 0; i < p.masks; ++i)
      if (const std::int64_t height = ints(image_size)[2 * i], width = ints(image_size)[2 * i + 1];
          height * width > INT32_MAX)
        throw NotSupported("An image of " + std::to_string(height) + " x " + std::to_string(width) +
                           " pixels has too many for a device's masks. Take it out of the data set.");
    const at::Tensor box = boxes.to(device_), extent = image_size.to(device_),
                     begin = at::empty({p.masks + 1}, extent.options());
    const kernels::MaskChangesIn in{floats(masks), floats(box), ints(extent)};
    cuda::count_mask_changes(p, in, mutable_values<std::int32_t>(begin), stream());
    const at::Tensor first = begin.to(at::kCPU), changes = at::empty({ints(first)[p.masks]}, extent.options());
    cuda::write_mask_changes(p, in, ints(begin), mutable_values<std::int32_t>(changes), stream());
    const at::Tensor positions = changes.to(at::kCPU);
    std::vector<coco::Rle> out;
    for (std::int64_t i = 0; i < p.masks; ++i) {
      const auto height = static_cast<std::uint32_t>(ints(image_size)[2 * i]),
                 width = static_cast<std::uint32_t>(ints(image_size)[2 * i + 1]);
      coco::Rle& rle = out.emplace_back(coco::Rle{height, width, {}});
      std::uint32_t last = 0;
      const auto run_to = [&](std::uint32_t position) { rle.counts.push_back(position - last), last = position; };
      for (std::int32_t k = ints(first)[i]; k < ints(first)[i + 1]; ++k)
        run_to(static_cast<std::uint32_t>(ints(positions)[k]));
      run_to(rle.height * rle.width);
    }
    return out;
  }

 private:
  cudaStream_t stream() const { return current_stream_(); }
  at::Tensor scratch(std::size_t n) const {
    return at::empty({static_cast<std::int64_t>(n)}, at::TensorOptions(at::kByte).device(device_));
  }

  at::Device device_;
  std::function<cudaStream_t()> current_stream_;
};

// stream: a function without arguments, torch's current stream.
template <class Stream> ParameterKernels device_parameter_kernels(Stream stream) {
  return {.sgd = [stream](const auto&... a) { cuda::sgd(a..., stream()); },
      .adam = [stream](const auto&... a) { cuda::adam(a..., stream()); },
      .find_nonfinite = [stream](const auto&... a) { cuda::find_nonfinite(a..., stream()); },
      .squared_norms = [stream](const auto&... a) { cuda::squared_norms(a..., stream()); },
      .round_bfloat16 = [stream](const auto&... a) { cuda::round_bfloat16(a..., stream()); }};
}

}  // namespace ttt::model
