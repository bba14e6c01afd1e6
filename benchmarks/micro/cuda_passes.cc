#include "cuda_passes.h"

#include "cuda_timing.h"
#include "inputs.h"
#include "kernels/adam/adam.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/mask_logits/mask_logits.h"
#include "kernels/max_pool/max_pool.h"
#include "kernels/sgd/sgd.h"
#include "kernels/squared_norms/squared_norms.h"

namespace ttt::micro {
namespace {

namespace cuda = kernels::cuda;

// As many weights as ResNet-50's Mask R-CNN trains, in pieces as the optimiser makes them.
void add_sgd() {
  static constexpr std::int64_t kWeights = 44'000'000, kPiece = 1 << 15;
  struct Inputs {
    Inputs()
        : grad(kWeights), momentum(kWeights), weight(kWeights), tensors(0),
          rates(Device<float>::of(std::vector<float>{0.02f, 1.0f})) {
      std::vector<kernels::SgdTensor> all;
      for (std::int64_t at = 0; at < kWeights; at += kPiece)
        all.push_back({grad + at, momentum + at, weight + at, std::min<std::int64_t>(kPiece, kWeights - at), 1, 1e-4f});
      tensors = Device<kernels::SgdTensor>::of(all), count = std::ssize(all);
    }
    Device<float> grad, momentum, weight;
    Device<kernels::SgdTensor> tensors;
    Device<float> rates;
    std::int64_t count = 0;
  };
  add_kernel("sgd/resnet50", {static_cast<double>(kWeights), "weights/s", 20.0 * static_cast<double>(kWeights)}, [] {
    return owning(Inputs(), [](Inputs& d) {
      cuda::sgd({}, d.tensors, d.count, kPiece, {.lr = d.rates, .grad_scale = d.rates + 1, .skip = nullptr}, nullptr);
    });
  });
}

// The same weights with two moments.
void add_adam() {
  static constexpr std::int64_t kWeights = 44'000'000, kPiece = 1 << 15;
  struct Inputs {
    Inputs()
        : grad(kWeights), first(kWeights), second(kWeights), weight(kWeights), tensors(0),
          numbers(Device<float>::of(std::vector<float>{1e-3f, 1.0f, 1.0f, 1.0f})) {
      std::vector<kernels::AdamTensor> all;
      for (std::int64_t at = 0; at < kWeights; at += kPiece)
        all.push_back({grad + at, first + at, second + at, weight + at, nullptr,
            std::min<std::int64_t>(kPiece, kWeights - at), 1, 1e-2f});
      tensors = Device<kernels::AdamTensor>::of(all), count = std::ssize(all);
    }
    Device<float> grad, first, second, weight;
    Device<kernels::AdamTensor> tensors;
    Device<float> numbers;
    std::int64_t count = 0;
  };
  add_kernel("adam/resnet50", {static_cast<double>(kWeights), "weights/s", 28.0 * static_cast<double>(kWeights)}, [] {
    return owning(Inputs(), [](Inputs& d) {
      cuda::adam({}, d.tensors, d.count, kPiece,
          {.lr = d.numbers, .grad_scale = d.numbers + 1, .correction = d.numbers + 2, .skip = nullptr}, nullptr);
    });
  });
}

// Of as many weights in ten groups, as telemetry takes them.
void add_squared_norms() {
  static constexpr std::int64_t kWeights = 44'000'000, kGroups = 10;
  struct Inputs {
    Inputs()
        : gradient(kWeights), before(kWeights), after(kWeights), piece(0), group_begin(0), partial(0), out(kGroups) {
      std::vector<kernels::NormPiece> pieces;
      std::vector<std::int64_t> begin;
      for (std::int64_t at = 0; at < kWeights; at += kernels::kNormPiece) {
        if (std::ssize(begin) * kWeights / kGroups <= at) begin.push_back(std::ssize(pieces));
        pieces.push_back({at, std::min(kernels::kNormPiece, kWeights - at)});
      }
      begin.push_back(std::ssize(pieces));
      piece = Device<kernels::NormPiece>::of(pieces), group_begin = Device<std::int64_t>::of(begin),
      partial = Device<kernels::SquaredNorms>(pieces.size());
      groups = {.piece = piece, .group_begin = group_begin, .pieces = std::ssize(pieces), .groups = kGroups};
    }
    Device<float> gradient, before, after;
    Device<kernels::NormPiece> piece;
    Device<std::int64_t> group_begin;
    Device<kernels::SquaredNorms> partial, out;
    kernels::NormGroups groups{};
  };
  add_kernel(
      "squared_norms/resnet50", {static_cast<double>(kWeights), "weights/s", 12.0 * static_cast<double>(kWeights)}, [] {
        return owning(Inputs(),
            [](Inputs& d) { cuda::squared_norms(d.groups, d.gradient, d.before, d.after, d.partial, d.out, nullptr); });
      });
}

// Of ResNet-50's first stage on 2 images: 2 x 200 x 336 rows of 256 channels.
void add_norms() {
  struct Inputs {
    explicit Inputs(const kernels::BatchNormParams& params)
        : p(params), x(Device<float>::of(random_values(1, p.rows * p.channels, -2, 3))),
          residual(Device<float>::of(random_values(2, p.rows * p.channels, -1, 1))),
          y(static_cast<std::size_t>(p.rows * p.channels)), grad(static_cast<std::size_t>(p.rows * p.channels)),
          rows(static_cast<std::size_t>(8 * p.channels)), scratch(workspace(cuda::batch_norm_workspace(p))) {}
    float* row(std::int64_t i) const { return rows + i * p.channels; }
    kernels::BatchNormParams p;
    Device<float> x, residual, y, grad, rows;
    Device<unsigned char> scratch;
  };
  const kernels::BatchNormParams p{.rows = 2 * 200 * 336, .channels = 256};
  const double array = 4.0 * static_cast<double>(p.rows * p.channels);
  add_kernel("scale_offset_relu/resnet50_res2", {1, "calls/s", 3 * array}, [p] {
    return owning(Inputs(p), [](Inputs& d) {
      cuda::scale_offset_relu<float>(d.p, {d.x, d.row(0), d.row(1), d.residual}, d.y, nullptr);
    });
  });
  add_kernel("scale_offset_relu/resnet50_res2_bf16", {1, "calls/s", 3 * array / 2}, [p] {
    return owning(Inputs(p), [](Inputs& d) {  // the bits of float32 numbers, taken for two each: any will do
      const auto halves = [](float* v) { return reinterpret_cast<kernels::Bfloat16*>(v); };
      cuda::scale_offset_relu<kernels::Bfloat16>(
          d.p, {halves(d.x), nullptr, d.row(1), halves(d.residual)}, halves(d.y), nullptr);
    });
  });
  add_kernel("batch_norm_forward/resnet50_res2", {1, "calls/s", 2 * array}, [p] {
    return owning(Inputs(p), [](Inputs& d) {
      cuda::batch_norm_forward(
          d.p, {d.x, d.row(0), d.row(1), nullptr}, {d.y, d.row(2), d.row(3), d.row(4)}, d.scratch, nullptr);
    });
  });
  add_kernel("batch_norm_backward/resnet50_res2", {1, "calls/s", 4 * array}, [p] {
    return owning(Inputs(p), [](Inputs& d) {
      cuda::batch_norm_backward(d.p, {d.residual, d.x, d.y, d.row(0), d.row(2), d.row(4)},
          {d.grad, nullptr, d.row(5), d.row(6)}, d.scratch, nullptr);
    });
  });
}

// Behind the pyramid's convolutions, with a ReLU as in the mask head: of P2 of 2 images.
void add_offset_gradient() {
  using T = kernels::Bfloat16;
  struct Inputs {
    explicit Inputs(const kernels::BatchNormParams& params)
        : p(params), grad(static_cast<std::size_t>(p.rows * p.channels)),
          y(static_cast<std::size_t>(p.rows * p.channels)), grad_x(static_cast<std::size_t>(p.rows * p.channels)),
          grad_offset(static_cast<std::size_t>(p.channels)), scratch(workspace(cuda::offset_gradient_workspace(p))) {}
    kernels::BatchNormParams p;
    Device<T> grad, y, grad_x;
    Device<float> grad_offset;
    Device<unsigned char> scratch;
  };
  const kernels::BatchNormParams p{.rows = 2 * 200 * 336, .channels = 256};
  add_kernel("offset_gradient/fpn_p2_bf16", {1, "calls/s", 6.0 * static_cast<double>(p.rows * p.channels)}, [p] {
    return owning(Inputs(p), [](Inputs& d) {
      cuda::offset_gradient<T>(d.p, {d.grad, d.y}, {d.grad_x, d.grad_offset}, d.scratch, nullptr);
    });
  });
}

// Of 2 images' positives at most, 128 each, in 81 classes.
void add_mask_logits() {
  using T = kernels::Bfloat16;
  struct Inputs {
    explicit Inputs(const kernels::MaskLogitsParams& params)
        : p(params), label(Device<std::int32_t>::of([&] {
            std::vector<std::int32_t> all;
            for (std::int64_t m = 0; m < p.rows; ++m) all.push_back(static_cast<std::int32_t>(m % p.classes));
            return all;
          }())),
          blocks(values()), grad_blocks(values()), bias(static_cast<std::size_t>(p.channels)),
          weight(static_cast<std::size_t>(p.classes * p.channels)), weight_bias(static_cast<std::size_t>(p.classes)),
          logits(values() / static_cast<std::size_t>(p.channels)), grad_bias(static_cast<std::size_t>(p.channels)),
          grad_weight(static_cast<std::size_t>(p.classes * p.channels)),
          grad_weight_bias(static_cast<std::size_t>(p.classes)),
          scratch(workspace(cuda::mask_logits_backward_workspace(p))) {}
    std::size_t values() const { return static_cast<std::size_t>(p.rows * 4 * p.pooled * p.pooled * p.channels); }
    kernels::MaskLogitsIn<T> in() const { return {blocks, label, bias, weight}; }
    kernels::MaskLogitsParams p;
    Device<std::int32_t> label;
    Device<T> blocks, grad_blocks;
    Device<float> bias, weight, weight_bias, logits, grad_bias, grad_weight, grad_weight_bias;
    Device<unsigned char> scratch;
  };
  const kernels::MaskLogitsParams p{.rows = 256, .channels = 256, .classes = 81};
  const double array = 2.0 * static_cast<double>(p.rows * 784 * p.channels);
  add_kernel("mask_logits_forward/positives_bf16", {1, "calls/s", array}, [p] {
    return owning(
        Inputs(p), [](Inputs& d) { cuda::mask_logits_forward<T>(d.p, d.in(), d.weight_bias, d.logits, nullptr); });
  });
  add_kernel("mask_logits_backward/positives_bf16", {1, "calls/s", 2 * array}, [p] {
    return owning(Inputs(p), [](Inputs& d) {
      cuda::mask_logits_backward<T>(
          d.p, d.in(), d.logits, {d.grad_blocks, d.grad_bias, d.grad_weight, d.grad_weight_bias}, d.scratch, nullptr);
    });
  });
}

// Behind ResNet-50's first convolution, of 2 images.
void add_max_pool() {
  using T = kernels::Bfloat16;
  struct Inputs {
    explicit Inputs(const kernels::MaxPoolParams& params)
        : p(params), x(static_cast<std::size_t>(p.images * p.height * p.width * p.channels)),
          y(static_cast<std::size_t>(
              p.images * kernels::pooled_size(p.height) * kernels::pooled_size(p.width) * p.channels)),
          offset(static_cast<std::size_t>(p.channels)) {}
    kernels::MaxPoolParams p;
    Device<T> x, y;
    Device<float> offset;
  };
  const kernels::MaxPoolParams p{.images = 2, .height = 400, .width = 672, .channels = 64};
  const double read = 2.0 * static_cast<double>(p.images * p.height * p.width * p.channels);
  add_kernel("offset_relu_pool/resnet50_stem_bf16", {1, "calls/s", 1.25 * read}, [p] {
    return owning(Inputs(p), [](Inputs& d) { cuda::offset_relu_pool<T>(d.p, d.x, d.offset, d.y, nullptr); });
  });
}

}  // namespace

void add_passes() {
  add_sgd(), add_adam(), add_squared_norms(), add_norms();
  add_offset_gradient(), add_mask_logits(), add_max_pool();
}

}  // namespace ttt::micro
