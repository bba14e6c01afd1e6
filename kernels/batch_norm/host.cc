#include "kernels/batch_norm/host.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "kernels/batch_norm/host_loops.h"

namespace ttt::kernels::host {
namespace {

// Rows summed in float32 before float64 takes over: 2^-24 * sqrt(256) of relative error, and fixed, so that the bits do not depend on threads.
constexpr std::int64_t kBlock = 256;

std::int64_t blocks_of(std::int64_t rows) { return (rows + kBlock - 1) / kBlock; }

// body(block, first row, rows)
template <class Body>
void for_blocks(ThreadPool* pool, std::int64_t rows, Body&& body) {
  parallel_for(pool, blocks_of(rows), [&](std::int64_t b) { body(b, b * kBlock, std::min(kBlock, rows - b * kBlock)); });
}

// Column sums over blocks, in float64.
std::vector<double> total(const std::vector<float>& partial, std::int64_t blocks, std::int64_t channels) {
  std::vector<double> sum(static_cast<std::size_t>(channels), 0.0);
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += partial[b * channels + c];
  return sum;
}

}  // namespace

std::int64_t batch_norm_forward(const BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual,
                                float* y, float* mean, float* variance, float* rstd, ThreadPool* pool, const SumOverRanks& sum_over_ranks) {
  const BatchNormLoops loops = batch_norm_loops(best_isa());
  const std::int64_t blocks = blocks_of(p.rows), c = p.channels;
  std::vector<float> partial(static_cast<std::size_t>(blocks * c)), scale(c), offset(c);
  // The first row as the shift: sums of differences keep their digits where the mean is large beside the spread.
  for_blocks(pool, p.rows, [&](std::int64_t b, std::int64_t r, std::int64_t n) { loops.sum(n, c, x + r * c, x, &partial[b * c]); });
  const std::vector<double> sums = total(partial, blocks, c);
  for (std::int64_t i = 0; i < c; ++i) mean[i] = static_cast<float>(x[i] + sums[i] / static_cast<double>(p.rows));
  for_blocks(pool, p.rows, [&](std::int64_t b, std::int64_t r, std::int64_t n) { loops.square(n, c, x + r * c, mean, &partial[b * c]); });
  std::vector<double> squares = total(partial, blocks, c);
  double rows = static_cast<double>(p.rows);
  if (sum_over_ranks) {
    std::vector<double> joined(2 * c + 1);  // rows * mean, rows * (variance + mean^2), rows
    for (std::int64_t i = 0; i < c; ++i) {
      joined[i] = rows * mean[i];
      joined[c + i] = squares[i] + rows * mean[i] * mean[i];
    }
    joined[2 * c] = rows;
    sum_over_ranks(joined.data(), joined.size());
    rows = joined[2 * c];
    for (std::int64_t i = 0; i < c; ++i) {
      const double m = joined[i] / rows;
      mean[i] = static_cast<float>(m);
      squares[i] = std::max(0.0, joined[c + i] - rows * m * m);
    }
  }
  for (std::int64_t i = 0; i < c; ++i) {
    const double v = squares[i] / rows;
    variance[i] = static_cast<float>(v);
    rstd[i] = static_cast<float>(1.0 / std::sqrt(v + p.eps));
    scale[i] = weight[i] * rstd[i];
    offset[i] = bias[i] - mean[i] * scale[i];
  }
  for_blocks(pool, p.rows, [&](std::int64_t, std::int64_t r, std::int64_t n) {
    loops.apply(n, c, x + r * c, scale.data(), offset.data(), residual ? residual + r * c : nullptr, p.relu, y + r * c);
  });
  return static_cast<std::int64_t>(rows);
}

void batch_norm_backward(const BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                         const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias, ThreadPool* pool,
                         const SumOverRanks& sum_over_ranks) {
  const BatchNormLoops loops = batch_norm_loops(best_isa());
  const std::int64_t blocks = blocks_of(p.rows), c = p.channels;
  std::vector<float> partial_g(static_cast<std::size_t>(blocks * c)), partial_gx(partial_g.size()), a(c), b(c), d(c);
  for_blocks(pool, p.rows, [&](std::int64_t k, std::int64_t r, std::int64_t n) {
    loops.backward_sums(n, c, grad_y + r * c, y + r * c, x + r * c, mean, p.relu, grad_residual ? grad_residual + r * c : nullptr, &partial_g[k * c],
                        &partial_gx[k * c]);
  });
  std::vector<double> sum_g = total(partial_g, blocks, c), sum_gx = total(partial_gx, blocks, c);
  for (std::int64_t i = 0; i < c; ++i) {
    grad_bias[i] = static_cast<float>(sum_g[i]);
    grad_weight[i] = static_cast<float>(sum_gx[i] * rstd[i]);
  }
  double m = static_cast<double>(p.rows);
  if (sum_over_ranks) {
    std::vector<double> joined(sum_g);
    joined.insert(joined.end(), sum_gx.begin(), sum_gx.end());
    joined.push_back(m);
    sum_over_ranks(joined.data(), joined.size());
    std::copy_n(joined.begin(), c, sum_g.begin());
    std::copy_n(joined.begin() + c, c, sum_gx.begin());
    m = joined.back();
  }
  for (std::int64_t i = 0; i < c; ++i) {
    // dx = w rstd (g - mean(g) - (x - mean) rstd^2 mean(g (x - mean))), as a * g + b * x + d
    const double wr = static_cast<double>(weight[i]) * rstd[i];
    const double slope = -wr * rstd[i] * rstd[i] * sum_gx[i] / m;
    a[i] = static_cast<float>(wr);
    b[i] = static_cast<float>(slope);
    d[i] = static_cast<float>(-wr * sum_g[i] / m - slope * mean[i]);
  }
  for_blocks(pool, p.rows, [&](std::int64_t, std::int64_t r, std::int64_t n) {
    loops.backward_apply(n, c, grad_y + r * c, y + r * c, x + r * c, a.data(), b.data(), d.data(), p.relu, grad_x + r * c);
  });
}

template <class T>
void scale_offset_relu(const BatchNormParams& p, const T* x, const float* scale, const float* offset, const T* residual, T* y, ThreadPool* pool) {
  const std::int64_t c = p.channels;
  const std::vector<float> ones(scale ? 0 : c, 1.0f);  // x * 1 is exact
  if (!scale) scale = ones.data();
  const BatchNormLoops loops = batch_norm_loops(best_isa());
  for_blocks(pool, p.rows, [&](std::int64_t, std::int64_t r, std::int64_t n) {
    const T* other = residual ? residual + r * c : nullptr;
    if constexpr (std::is_same_v<T, float>) {
      loops.apply(n, c, x + r * c, scale, offset, other, p.relu, y + r * c);
    } else {
      std::vector<float> wide(c), wide_other(residual ? c : 0);
      for (std::int64_t row = 0; row < n; ++row) {
        for (std::int64_t i = 0; i < c; ++i) wide[i] = widen(x[(r + row) * c + i]);
        for (std::int64_t i = 0; i < std::ssize(wide_other); ++i) wide_other[i] = widen(other[row * c + i]);
        loops.apply(1, c, wide.data(), scale, offset, residual ? wide_other.data() : nullptr, p.relu, wide.data());
        for (std::int64_t i = 0; i < c; ++i) y[(r + row) * c + i] = narrow<T>(wide[i]);
      }
    }
  });
}

template void scale_offset_relu(const BatchNormParams&, const float*, const float*, const float*, const float*, float*, ThreadPool*);
template void scale_offset_relu(const BatchNormParams&, const Bfloat16*, const float*, const float*, const Bfloat16*, Bfloat16*, ThreadPool*);
template void scale_offset_relu(const BatchNormParams&, const Float16*, const float*, const float*, const Float16*, Float16*, ThreadPool*);

}  // namespace ttt::kernels::host
