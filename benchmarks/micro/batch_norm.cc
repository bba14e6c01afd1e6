// Batch normalisation in training, channels last. Peer: ATen's native_batch_norm and its backward. Without the fused residual and ReLU, which the peer lacks.
// links: ttt_kernels_host torch::cpu
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>

#include "bench.h"
#include "kernels/batch_norm/batch_norm.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::int64_t images, channels, height, width;
};
// Behind the first convolution and in the last stage of the default recipe; ResNet-50's second and last stage on 800 x 1344 / 2.
constexpr Shape kShapes[] = {{"default_stem", 4, 16, 64, 64}, {"default_res5", 4, 128, 4, 4}, {"resnet50_res2", 1, 256, 100, 168}, {"resnet50_res5", 1, 2048, 13, 21}};

struct Case {
  explicit Case(const Shape& s)
      : shape(s), p{.rows = s.images * s.height * s.width, .channels = s.channels, .relu = false}, size(p.rows * p.channels), x(random_values(1, size, -2, 3)),
        grad(random_values(2, size, -1, 1)), weight(random_values(3, s.channels, 0.5, 2)), bias(random_values(4, s.channels, -1, 1)), y(size), grad_x(size),
        mean(s.channels), variance(s.channels), rstd(s.channels), grad_weight(s.channels), grad_bias(s.channels) {}
  at::Tensor nchw(const Values& v) const { return view(v, {shape.images, shape.height, shape.width, shape.channels}).permute({0, 3, 1, 2}); }
  at::Tensor row(const Values& v) const { return view(v, {shape.channels}); }
  void forward() {
    kernels::host::batch_norm_forward(p, {x.data(), weight.data(), bias.data(), nullptr},
                                      {y.data(), mean.data(), variance.data(), rstd.data()});
  }
  void backward() {
    kernels::host::batch_norm_backward(p, {grad.data(), x.data(), y.data(), weight.data(), mean.data(), rstd.data()},
                                       {grad_x.data(), nullptr, grad_weight.data(), grad_bias.data()});
  }
  void forward_aten() { std::tie(their_y, their_mean, their_rstd) = at::native_batch_norm(nchw(x), row(weight), row(bias), {}, {}, true, 0.1, p.eps); }
  void backward_aten() {
    std::tie(their_grad_x, their_grad_weight, their_grad_bias) =
        at::native_batch_norm_backward(nchw(grad), nchw(x), row(weight), {}, {}, their_mean, their_rstd, true, p.eps, {true, true, true});
  }
  std::string disagreement() {
    forward(), backward(), forward_aten(), backward_aten();
    const auto nhwc = [](const at::Tensor& t) { return t.permute({0, 2, 3, 1}).contiguous(); };
    const at::Tensor a = nhwc(their_y), b = nhwc(their_grad_x);
    for (const std::string& text : {difference<float>("batch_norm", y, values_of(a), 1e-4), difference<float>("batch_norm_backward", grad_x, values_of(b), 1e-4),
                                    difference<float>("batch_norm's weight gradient", grad_weight, values_of(their_grad_weight), 1e-3)})
      if (!text.empty()) return text;
    return "";
  }
  std::string label() const { return words("%lld x %lld x %lld x %lld", (long long)shape.images, (long long)shape.channels, (long long)shape.height, (long long)shape.width); }
  double items() const { return static_cast<double>(size * static_cast<std::int64_t>(sizeof(float))); }  // of the activations, once
  static constexpr const char* kItems = "bytes/s";
  const Shape& shape;
  kernels::BatchNormParams p;
  std::int64_t size;
  Values x, grad, weight, bias, y, grad_x, mean, variance, rstd, grad_weight, grad_bias;
  at::Tensor their_y, their_mean, their_rstd, their_grad_x, their_grad_weight, their_grad_bias;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("batch_norm_forward", s, "ours", &Case::forward);
    add<Case>("batch_norm_forward", s, "aten", &Case::forward_aten);
    add<Case>("batch_norm_backward", s, "ours", &Case::backward);
    add<Case>("batch_norm_backward", s, "aten", &Case::backward_aten);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
