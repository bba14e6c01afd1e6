#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "kernels/common/relu.h"
#include "kernels/common/simd.h"
#include "kernels/mask_logits/mask_logits.h"
#include "kernels/mask_logits/pixels.h"

#define TTT_SIMD_BODY "kernels/mask_logits/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {

constexpr int kSums = kMaskChunks / kMaskJoined;  // of a row

// Sums over a row's pixels, kSums each.
struct RowSums {
  std::vector<float> bias, weight;  // [M, kSums, C]
  std::vector<float> grad;          // [M, kSums]
  RowSums(const MaskLogitsParams& p)
      : bias(static_cast<std::size_t>(p.rows * kSums * p.channels)), weight(bias.size()),
        grad(static_cast<std::size_t>(p.rows * kSums)) {}
};

}  // namespace

void mask_logits_forward(const MaskLogitsParams& p, const MaskLogitsIn<float>& in, const float* weight_bias,
    float* logits, ThreadPool* pool) {
  const auto loop = TTT_PICK(best_isa(), masks::logits);
  const int pixels = pixels_of(p);
  parallel_for(pool, p.rows, [&](std::int64_t m) {
    std::vector<float> own(static_cast<std::size_t>(pixels));
    const std::int32_t k = in.label[m];
    loop(pixels, p.channels, in.blocks + m * pixels * p.channels, in.bias, in.weight + k * p.channels, own.data());
    for (int i = 0; i < pixels; ++i) logits[m * pixels + logit_of(p, i)] = own[i] + weight_bias[k];
  });
}

void mask_logits_backward(const MaskLogitsParams& p, const MaskLogitsIn<float>& in, const float* grad,
    const MaskLogitsGrad<float>& out, ThreadPool* pool) {
  const auto loop = TTT_PICK(best_isa(), masks::gradients);
  const std::int64_t pixels = pixels_of(p), channels = p.channels;
  RowSums sums(p);
  parallel_for(pool, p.rows, [&](std::int64_t m) {
    std::vector<float> own(static_cast<std::size_t>(pixels)), of_bias(static_cast<std::size_t>(channels)),
        of_weight(of_bias.size());
    for (int i = 0; i < pixels; ++i) own[i] = grad[m * pixels + logit_of(p, i)];
    for (int chunk = 0; chunk < kMaskChunks; ++chunk) {
      const auto [begin, end] = chunk_of(p, chunk);
      const std::int64_t at = (m * pixels + begin) * channels, sum = m * kSums + chunk / kMaskJoined;
      loop(end - begin, channels, in.blocks + at, &own[begin], in.bias, in.weight + in.label[m] * channels,
          out.blocks + at, of_bias.data(), of_weight.data());
      float of_grad = 0;
      for (int i = begin; i < end; ++i) of_grad += own[i];
      sums.grad[sum] += of_grad;
      for (std::int64_t c = 0; c < channels; ++c)
        sums.bias[sum * channels + c] += of_bias[c], sums.weight[sum * channels + c] += of_weight[c];
    }
  });
  std::fill_n(out.weight, p.classes * channels, 0.0f);
  std::fill_n(out.weight_bias, p.classes, 0.0f);
  std::vector<float> of_class(static_cast<std::size_t>(p.classes * channels));  // the bias's gradient
  for (std::int64_t sum = 0; sum < p.rows * kSums; ++sum) {
    const std::int64_t k = in.label[sum / kSums];
    out.weight_bias[k] += sums.grad[sum];
    for (std::int64_t c = 0; c < channels; ++c) {
      of_class[k * channels + c] += sums.bias[sum * channels + c];
      out.weight[k * channels + c] += sums.weight[sum * channels + c];
    }
  }
  std::fill_n(out.bias, channels, 0.0f);
  for (std::int64_t k = 0; k < p.classes; ++k)
    for (std::int64_t c = 0; c < channels; ++c) out.bias[c] += of_class[k * channels + c];
}

}  // namespace ttt::kernels::host
