// RoIAlign over a pyramid of strides 4 to 32. Peer: ATen's grid_sampler at the same points, averaged, one call for each image and level, with each
// RoI's level given to it. Backward is checked as forward's adjoint: <forward(f), g> = <f, backward(g)>.
// links: ttt_kernels_host torch::cpu
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "bench.h"
#include "inputs.h"
#include "kernels/roi_align/roi_align.h"
#include "shapes.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Inputs {
  explicit Inputs(const RoiShape& s) : shape(s) {
    p.levels = 4, p.images = s.images, p.channels = s.channels, p.rois = s.rois, p.pooled = s.pooled;
    for (int l = 0; l < 4; ++l) {
      const std::int64_t stride = 4 << l;
      p.height[l] = (s.height + stride - 1) / stride, p.width[l] = (s.width + stride - 1) / stride, p.scale[l] = 1.0f / static_cast<float>(stride);
      features.push_back(random_values(l, p.images * p.height[l] * p.width[l] * p.channels, -1, 1));
      pointers.push_back(features.back().data());
    }
    rois = random_boxes(100, s.rois, static_cast<double>(s.height), static_cast<double>(s.width), s.height < 200 ? 8 : 16);
    for (std::int64_t r = 0; r < s.rois; ++r) image.push_back(static_cast<std::int32_t>(r * s.images / s.rois));
    out.resize(s.rois * s.pooled * s.pooled * s.channels);
  }
  std::string label() const {
    return words("%lld x %lld x %lld, %lld channels, %d x %d bins", (long long)shape.images, (long long)shape.height, (long long)shape.width,
                 (long long)shape.channels, shape.pooled, shape.pooled);
  }
  double items() const { return static_cast<double>(shape.rois); }
  static constexpr const char* kItems = "RoIs/s";
  void forward() { kernels::host::roi_align_forward(p, pointers.data(), rois.data(), image.data(), out.data()); }

  const RoiShape& shape;
  kernels::RoiAlignParams p;
  std::vector<Values> features;
  std::vector<const float*> pointers;
  Values rois, out;
  std::vector<std::int32_t> image;
};

struct Forward : Inputs {
  explicit Forward(const RoiShape& s) : Inputs(s) {
    const at::Tensor boxes = view(rois, {s.rois, 4});
    const at::Tensor sides = boxes.slice(1, 2) - boxes.slice(1, 0, 2);
    const at::Tensor level = (4 + (sides.prod(1).sqrt() / 224).log2() + 1e-6).floor().clamp(2, 5);
    const at::Tensor image_of = at::tensor(at::ArrayRef<std::int32_t>(image));
    for (std::int64_t n = 0; n < s.images; ++n)
      for (int l = 0; l < 4; ++l) {
        const at::Tensor index = ((image_of == n) & (level == l + 2)).nonzero().flatten();
        if (index.numel() == 0) continue;
        // NCHW: grid_sampler is written for it
        const at::Tensor map = view(features[l], {s.images, p.height[l], p.width[l], s.channels})[n].permute({2, 0, 1}).contiguous().unsqueeze(0);
        parts.push_back({map, boxes.index_select(0, index) * p.scale[l], index});
      }
    sampled = at::empty({s.rois, s.channels, s.pooled, s.pooled});
  }
  void grid_sample() {
    const std::int64_t points = 2 * shape.pooled, bins = shape.pooled;
    const at::Tensor along = (at::arange(points) + 0.5) / static_cast<double>(points);
    for (const Part& part : parts) {
      const std::int64_t n = part.boxes.size(0);
      const auto axis = [&](int d) {  // [n, points] in -1 .. 1 over the map
        const at::Tensor begin = part.boxes.slice(1, d, d + 1), side = (part.boxes.slice(1, d + 2, d + 3) - begin).clamp_min(1.0);
        return (begin + along * side) * (2.0 / static_cast<double>(part.map.size(3 - d) - 1)) - 1;
      };
      const at::Tensor x = axis(0).unsqueeze(1).expand({n, points, points}), y = axis(1).unsqueeze(2).expand({n, points, points});
      const at::Tensor grid = at::stack({x, y}, 3).view({1, n, points * points, 2});
      const at::Tensor values = at::grid_sampler_2d(part.map, grid, /*bilinear*/ 0, /*border*/ 1, /*align_corners=*/true);
      sampled.index_copy_(0, part.index, values.view({shape.channels, n, bins, 2, bins, 2}).mean(at::IntArrayRef{3, 5}).transpose(0, 1));
    }
  }
  std::string disagreement() {
    forward(), grid_sample();
    const at::Tensor theirs = sampled.permute({0, 2, 3, 1}).contiguous();
    return difference<float>("roi_align_forward", out, values_of(theirs), 1e-3);  // points within 1e-4 of a pixel's centre may take either neighbour
  }
  struct Part {  // the RoIs of one image and level
    at::Tensor map, boxes, index;
  };
  std::vector<Part> parts;
  at::Tensor sampled;
};

// With the zeroing of the gradients, which the caller owes.
struct Backward : Inputs {
  explicit Backward(const RoiShape& s) : Inputs(s), grad_out(random_values(101, std::ssize(out), -1, 1)) {
    for (const Values& f : features) grads.emplace_back(f.size()), grad_pointers.push_back(grads.back().data());
  }
  void ours() {
    for (Values& g : grads) std::fill(g.begin(), g.end(), 0.0f);
    kernels::host::roi_align_backward(p, grad_out.data(), rois.data(), image.data(), grad_pointers.data());
  }
  std::string disagreement() {
    forward(), ours();
    double left = 0, right = 0, size = 0;
    for (std::size_t i = 0; i < out.size(); ++i) left += double{out[i]} * grad_out[i];
    for (std::size_t l = 0; l < grads.size(); ++l)
      for (std::size_t i = 0; i < grads[l].size(); ++i) right += double{features[l][i]} * grads[l][i], size += std::abs(double{features[l][i]} * grads[l][i]);
    return std::abs(left - right) <= 1e-6 * size ? "" : words("roi_align_backward is not forward's adjoint: %g, %g", left, right);
  }
  Values grad_out;
  std::vector<Values> grads;
  std::vector<float*> grad_pointers;
};

const bool added = [] {
  for (const RoiShape& s : kRoiShapes) {
    add<Forward>("roi_align_forward", s, "ours", &Forward::forward);
    add<Forward>("roi_align_forward", s, "aten_grid_sampler", &Forward::grid_sample);
    add<Backward>("roi_align_backward", s, "ours", &Backward::ours);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
