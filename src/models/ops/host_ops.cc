#include "coco/rle.h"
#include "core/error.h"
#include "core/parallel.h"
#include "kernels/batch_norm/host.h"
#include "kernels/common/host.h"
#include "kernels/paste/box.h"
#include "models/ops/kernel_ops.h"

namespace ttt::model {
namespace {

namespace host = kernels::host;

// kernels/host on a pool of threads.
class HostKernels {
 public:
  explicit HostKernels(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  at::Device device() const { return at::kCPU; }

  static constexpr bool kRoiAligns16Bit = false;
  void roi_align_forward(const kernels::RoiAlignParams& p, const float* const* features, const float* rois, const std::int32_t* roi_image, float* out) const {
    host::roi_align_forward(p, features, rois, roi_image, out, pool_.get());
  }
  void roi_align_backward(const kernels::RoiAlignParams& p, const float* grad_out, const float* rois, const std::int32_t* roi_image,
                          float* const* grad_features) const {
    host::roi_align_backward(p, grad_out, rois, roi_image, grad_features, pool_.get());
  }
  template <class T>
  void scale_offset_relu(const kernels::BatchNormParams& p, const float* scale, const float* offset, const T* residual, T* x) const {
    host::scale_offset_relu(p, x, scale, offset, residual, x, pool_.get());
  }
  std::int64_t batch_norm_forward(const kernels::BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual, float* y,
                                  float* mean, float* variance, float* rstd, comm::Communicator* sync) const {
    return host::batch_norm_forward(p, x, weight, bias, residual, y, mean, variance, rstd, pool_.get(), sum_over(sync));
  }
  void batch_norm_backward(const kernels::BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                           const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias, comm::Communicator* sync) const {
    host::batch_norm_backward(p, grad_y, x, y, weight, mean, rstd, grad_x, grad_residual, grad_weight, grad_bias, pool_.get(), sum_over(sync));
  }
  void match(const kernels::MatchParams& p, const float* gt, const std::int32_t* gt_count, const float* candidates, const std::uint8_t* visible,
             std::int32_t* matched) const {
    host::match(p, gt, gt_count, candidates, visible, matched, pool_.get());
  }
  void sample(const kernels::SampleParams& p, const std::int64_t* key, const std::int32_t* matched, const std::int64_t* image_id, std::int32_t* index, std::int32_t* positives,
              std::int32_t* total) const {
    host::sample(p, key, matched, image_id, index, positives, total, pool_.get());
  }
  void encode_boxes(const kernels::BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas) const {
    host::encode_boxes(p, n, gt, reference, deltas);
  }
  void proposals(const kernels::ProposalParams& p, const float* logits, const float* deltas, const float* anchors, const std::int32_t* image_size, float* boxes,
                 float* scores, std::int32_t* count) const {
    host::proposals(p, logits, deltas, anchors, image_size, boxes, scores, count, pool_.get());
  }
  void detections(const kernels::DetectionParams& p, const float* probabilities, const float* deltas, const float* rois, const std::int32_t* roi_count,
                  const std::int32_t* image_size, float* boxes, float* score, std::int32_t* label, std::int32_t* count) const {
    host::detections(p, probabilities, deltas, rois, roi_count, image_size, boxes, score, label, count, pool_.get());
  }
  void mask_targets_bitmap(const kernels::MaskTargetParams& p, std::int64_t /*longest_side*/, const std::uint8_t* bytes, const std::int64_t* bitmap_offset,
                           const std::int32_t* bitmap_box, const std::int32_t* object, const float* rois, const std::int32_t* image_height,
                           const std::int32_t* image_width, float* out) const {
    host::mask_targets_bitmap(p, bytes, bitmap_offset, bitmap_box, object, rois, image_height, image_width, out, pool_.get());
  }
  void mask_targets_polygon(const kernels::MaskTargetParams& p, const kernels::PolygonView& polygons, const std::int32_t* object, const float* rois,
                            float* out) const {
    host::mask_targets_polygon(p, polygons, object, rois, out, pool_.get());
  }
  std::vector<coco::Rle> encode_masks(const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size) const {
    const int size = static_cast<int>(masks.size(1));
    std::vector<coco::Rle> out(static_cast<std::size_t>(masks.size(0)));
    parallel_for(pool_.get(), masks.size(0), [&](std::int64_t i) {
      const float *mask = floats(masks) + i * size * size, *box = floats(boxes) + 4 * i;
      const std::int64_t height = ints(image_size)[2 * i], width = ints(image_size)[2 * i + 1];
      std::vector<std::uint8_t> bits(static_cast<std::size_t>(height * width));
      std::int32_t touched[4] = {};
      if (kernels::can_be_pasted(box))
        host::paste_mask(size, mask, box, height, width, touched, bits.data(), height * width);
      out[i] = coco::encode_box(bits.data(), touched[0], touched[1], touched[2], touched[3], static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width));
    });
    return out;
  }
  void place_images(const kernels::PlaceImagesParams& p, const kernels::RawImagesView& view, const float* values, float* images) const {
    host::place_images(p, view, values, images, pool_.get());
  }

 private:
  static host::SumOverRanks sum_over(comm::Communicator* sync) {
    if (!sync) return {};
    return [sync](double* values, std::size_t count) { sync->all_reduce_sum(values, count); };
  }

  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

DetectionOps host_ops(std::shared_ptr<ThreadPool> pool) { return kernel_ops("host", HostKernels(std::move(pool))); }

}  // namespace ttt::model
