#include "coco/rle.h"
#include "core/parallel.h"
#include "kernels/paste/box.h"
#include "kernels/paste/paste.h"
#include "models/ops/kernel_ops.h"

namespace ttt::model {
namespace {

namespace host = kernels::host;

// The reference implementations on a pool of threads.
class HostKernels {
 public:
  explicit HostKernels(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  at::Device device() const { return at::kCPU; }

  static constexpr bool kGathers16Bit = false;
  void roi_align_forward(const auto&... a) const { host::roi_align_forward(a..., pool_.get()); }
  void roi_align_backward(const auto&... a) const { host::roi_align_backward(a..., pool_.get()); }
  void patches_forward(const auto&... a) const { host::patches_forward(a..., pool_.get()); }
  void patches_backward(const auto&... a) const { host::patches_backward(a..., pool_.get()); }
  void mask_logits_forward(const auto&... a) const { host::mask_logits_forward(a..., pool_.get()); }
  void mask_logits_backward(const auto&... a) const { host::mask_logits_backward(a..., pool_.get()); }
  void scale_offset_relu(const auto&... a) const { host::scale_offset_relu(a..., pool_.get()); }
  void offset_relu_pool(const auto&... a) const { host::offset_relu_pool(a..., pool_.get()); }
  void offset_gradient(const auto&... a) const { host::offset_gradient(a..., pool_.get()); }
  std::int64_t batch_norm_forward(const auto& p, const auto& in, const auto& out, comm::Communicator* sync) const {
    return host::batch_norm_forward(p, in, out, pool_.get(), sum_over(sync));
  }
  void batch_norm_backward(const auto& p, const auto& in, const auto& out, comm::Communicator* sync) const {
    host::batch_norm_backward(p, in, out, pool_.get(), sum_over(sync));
  }
  void match(const auto&... a) const { host::match(a..., pool_.get()); }
  void sample(const auto&... a) const { host::sample(a..., pool_.get()); }
  void encode_boxes(const auto&... a) const { host::encode_boxes(a...); }
  void proposals(const auto&... a) const { host::proposals(a..., pool_.get()); }
  void detections(const auto&... a) const { host::detections(a..., pool_.get()); }
  void mask_targets_bitmap(const auto&... a) const { host::mask_targets_bitmap(a..., pool_.get()); }
  void mask_targets_polygon(const auto&... a) const { host::mask_targets_polygon(a..., pool_.get()); }
  void preprocess(const auto&... a) const { host::preprocess(a..., pool_.get()); }
  std::vector<coco::Rle> encode_masks(
      const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size) const {
    const int size = static_cast<int>(masks.size(1));
    std::vector<coco::Rle> out(static_cast<std::size_t>(masks.size(0)));
    parallel_for(pool_.get(), masks.size(0), [&](std::int64_t i) {
      const float *mask = floats(masks) + i * size * size, *box = floats(boxes) + 4 * i;
      const std::int64_t height = ints(image_size)[2 * i], width = ints(image_size)[2 * i + 1];
      std::vector<std::uint8_t> bits(static_cast<std::size_t>(height * width));
      std::int32_t touched[4] = {};
      if (kernels::can_be_pasted(box))
        host::paste_mask(size, mask, box, height, width, touched, bits.data(), height * width);
      out[i] = coco::encode_box(bits.data(), touched[0], touched[1], touched[2], touched[3],
          static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width));
    });
    return out;
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

DetectionOps host_ops(std::shared_ptr<ThreadPool> pool) { return kernel_ops("host", HostKernels(std::move(pool))); }

}  // namespace ttt::model
