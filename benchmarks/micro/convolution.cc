// A 3 x 3 convolution with its normalisation, forward and backward. "ours" leaves the convolution's bias away, which
// the normalisation would cancel; the peer has it.
// links: ttt_run ttt_op_counter
#include <ATen/ops/conv2d.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench.h"
#include "measure/op_flops.h"
#include "models/ops/detection_ops.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::int64_t images, channels, height, width;
};
constexpr Shape kShapes[] = {{"default_res3", 4, 32, 16, 16}, {"resnet50_res3", 1, 128, 100, 168}};

struct Case {
  explicit Case(const Shape& s)
      : shape(s), ops(model::host_ops(nullptr)),
        xs(random_values(1, s.images * s.channels * s.height * s.width, -1, 1)),
        ws(random_values(2, s.channels * s.channels * 9, -0.1, 0.1)), bs(random_values(3, s.channels, -1, 1)),
        scales(random_values(4, s.channels, 0.5, 2)) {
    x = channels_last(xs, {s.images, s.channels, s.height, s.width});
    weight = channels_last(ws, {s.channels, s.channels, 3, 3});
    bias = leaf(view(bs, {s.channels})), scale = leaf(view(scales, {s.channels})),
    offset = leaf(view(bs, {s.channels}));
  }
  static at::Tensor leaf(const at::Tensor& t) { return t.clone().requires_grad_(); }
  static at::Tensor channels_last(const Values& v, at::IntArrayRef sizes) {
    return leaf(view(v, sizes).contiguous(at::MemoryFormat::ChannelsLast));
  }
  at::Tensor run(const at::Tensor& b) {
    const at::Tensor y = ops.batch_norm(at::conv2d(x, weight, b, 1, 1), scale, offset, {}, 1e-5, true, nullptr).y;
    std::vector<at::Tensor> of = {x, weight, scale, offset};
    if (b.defined()) of.push_back(b);
    gradients = torch::autograd::grad({y}, of, {y.detach()});
    return y.detach();
  }
  void without_bias() { out = run({}); }
  void with_bias() { out = run(bias); }
  std::string disagreement() {
    without_bias();
    const at::Tensor y = out.contiguous(), g = gradients[1].contiguous();
    with_bias();
    const at::Tensor peer = out.contiguous(), peer_g = gradients[1].contiguous();
    const std::string text = difference<float>("convolution", values_of(y), values_of(peer), 1e-3);
    return text.empty() ? difference<float>("convolution's weight gradient", values_of(g), values_of(peer_g), 1e-2)
                        : text;
  }
  std::string label() const {
    return words("3 x 3, %lld x %lld x %lld x %lld", (long long)shape.images, (long long)shape.channels,
        (long long)shape.height, (long long)shape.width);
  }
  double items() const {
    return 3 * static_cast<double>(roofline::convolution_flops(x.sizes(), weight.sizes(), {1}, {1}, {1}, false));
  }
  static constexpr const char* kItems = "flop/s";
  const Shape& shape;
  model::DetectionOps ops;
  Values xs, ws, bs, scales;
  at::Tensor x, weight, bias, scale, offset, out;
  std::vector<at::Tensor> gradients;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("convolution_norm", s, "ours", &Case::without_bias);
    add<Case>("convolution_norm", s, "with_bias", &Case::with_bias);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
