// Rows of a mask head: classes that many rows share and classes without a row, and channels that fill no pack.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/mask_logits/mask_logits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {

struct MaskLogitsInputs {
  explicit MaskLogitsInputs(std::int64_t channels, std::int64_t rows = 5, int pooled = 3) {
    p.rows = rows, p.channels = channels, p.classes = 4, p.pooled = pooled;
    Stream s = stream(970 + static_cast<std::uint64_t>(channels));
    blocks = uniform(s, rows * 4 * pooled * pooled * channels, -1, 1);
    bias = uniform(s, channels, -0.5, 0.5);
    weight = uniform(s, p.classes * channels, -1, 1);
    weight_bias = uniform(s, p.classes, -1, 1);
    grad = uniform(s, rows * 4 * pooled * pooled, -1, 1);
    for (std::int64_t m = 0; m < rows; ++m) label.push_back(m % 3 == 1 ? 3 : 1);
  }
  MaskLogitsIn<float> in() const { return {blocks.data(), label.data(), bias.data(), weight.data()}; }

  MaskLogitsParams p;
  std::vector<float> blocks, bias, weight, weight_bias, grad;
  std::vector<std::int32_t> label;
};

// Results of the backward pass.
struct MaskLogitsGradients {
  explicit MaskLogitsGradients(const MaskLogitsParams& p)
      : blocks(static_cast<std::size_t>(p.rows * 4 * p.pooled * p.pooled * p.channels), kNan),
        bias(static_cast<std::size_t>(p.channels), kNan),
        weight(static_cast<std::size_t>(p.classes * p.channels), kNan),
        weight_bias(static_cast<std::size_t>(p.classes), kNan) {}
  MaskLogitsGrad<float> out() { return {blocks.data(), bias.data(), weight.data(), weight_bias.data()}; }

  std::vector<float> blocks, bias, weight, weight_bias;
};

}  // namespace ttt::kernels
