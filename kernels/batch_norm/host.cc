#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/common/simd.h"

#define TTT_SIMD_BODY "kernels/batch_norm/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {

// Rows summed in float32 before float64 takes over: a relative error of 2^-24 * sqrt(256). Fixed, so that the bits do
// not depend on threads.
constexpr std::int64_t kBlock = kSumRows;

std::int64_t blocks_of(std::int64_t rows) { return (rows + kBlock - 1) / kBlock; }

// body(block, first row, rows)
template <class Body> void for_blocks(ThreadPool* pool, std::int64_t rows, Body&& body) {
  parallel_for(
      pool, blocks_of(rows), [&](std::int64_t b) { body(b, b * kBlock, std::min(kBlock, rows - b * kBlock)); });
}

// Column sums over blocks, in float64.
std::vector<double> total(const std::vector<float>& partial, std::int64_t blocks, std::int64_t channels) {
  std::vector<double> sum(static_cast<std::size_t>(channels), 0.0), part(sum.size());
  for (std::int64_t first = 0; first < std::min<std::int64_t>(kSumParts, blocks); ++first) {
    std::fill(part.begin(), part.end(), 0.0);
    for (std::int64_t b = first; b < blocks; b += kSumParts)
      for (std::int64_t c = 0; c < channels; ++c) part[c] += partial[b * channels + c];
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += part[c];
  }
  return sum;
}

template <class T> std::vector<float> widened(const T* from, std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(count));
  std::transform(from, from + count, all.begin(), [](T v) { return widen(v); });
  return all;
}

}  // namespace

std::int64_t batch_norm_forward(const BatchNormParams& p, const BatchNormIn& in, const BatchNormOut& out,
    ThreadPool* pool, const SumOverRanks& sum_over_ranks) {
  const Isa isa = best_isa();
  const auto sum = TTT_PICK(isa, bn::sum), square = TTT_PICK(isa, bn::square);
  const std::int64_t blocks = blocks_of(p.rows), c = p.channels;
  std::vector<float> partial(static_cast<std::size_t>(blocks * c)), scale(c), offset(c);
  // The first row as the shift: sums of differences keep their digits where the mean is large beside the spread.
  for_blocks(pool, p.rows,
      [&](std::int64_t b, std::int64_t r, std::int64_t n) { sum(n, c, in.x + r * c, in.x, &partial[b * c]); });
  const std::vector<double> sums = total(partial, blocks, c);
  for (std::int64_t i = 0; i < c; ++i)
    out.mean[i] = static_cast<float>(in.x[i] + sums[i] / static_cast<double>(p.rows));
  for_blocks(pool, p.rows,
      [&](std::int64_t b, std::int64_t r, std::int64_t n) { square(n, c, in.x + r * c, out.mean, &partial[b * c]); });
  std::vector<double> squares = total(partial, blocks, c);
  double rows = static_cast<double>(p.rows);
  if (sum_over_ranks) {
    std::vector<double> joined(2 * c + 1);  // rows * mean, rows * (variance + mean^2), rows
    for (std::int64_t i = 0; i < c; ++i) {
      joined[i] = rows * out.mean[i];
      joined[c + i] = squares[i] + rows * out.mean[i] * out.mean[i];
    }
    joined[2 * c] = rows;
    sum_over_ranks(joined.data(), joined.size());
    rows = joined[2 * c];
    for (std::int64_t i = 0; i < c; ++i) {
      const double m = joined[i] / rows;
      out.mean[i] = static_cast<float>(m);
      squares[i] = std::max(0.0, joined[c + i] - rows * m * m);
    }
  }
  for (std::int64_t i = 0; i < c; ++i) {
    const double v = squares[i] / rows;
    out.variance[i] = static_cast<float>(v);
    out.rstd[i] = static_cast<float>(1.0 / std::sqrt(v + p.eps));
    scale[i] = in.weight[i] * out.rstd[i];
    offset[i] = in.bias[i] - out.mean[i] * scale[i];
  }
  scale_offset_relu(p, {in.x, scale.data(), offset.data(), in.residual}, out.y, pool);
  return static_cast<std::int64_t>(rows);
}

void batch_norm_backward(const BatchNormParams& p, const BatchNormGradIn& in, const BatchNormGradOut& out,
    ThreadPool* pool, const SumOverRanks& sum_over_ranks) {
  const Isa isa = best_isa();
  const auto sums = TTT_PICK(isa, bn::backward_sums);
  const auto apply = TTT_PICK(isa, bn::backward_apply);
  const std::int64_t blocks = blocks_of(p.rows), c = p.channels;
  std::vector<float> partial_g(static_cast<std::size_t>(blocks * c)), partial_gx(partial_g.size()), a(c), b(c), d(c);
  for_blocks(pool, p.rows, [&](std::int64_t k, std::int64_t r, std::int64_t n) {
    sums(n, c, in.grad_y + r * c, in.y + r * c, in.x + r * c, in.mean, p.relu,
        out.grad_residual ? out.grad_residual + r * c : nullptr, &partial_g[k * c], &partial_gx[k * c]);
  });
  std::vector<double> sum_g = total(partial_g, blocks, c), sum_gx = total(partial_gx, blocks, c);
  for (std::int64_t i = 0; i < c; ++i) {
    out.grad_bias[i] = static_cast<float>(sum_g[i]);
    out.grad_weight[i] = static_cast<float>(sum_gx[i] * in.rstd[i]);
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
    const double wr = static_cast<double>(in.weight[i]) * in.rstd[i];
    const double slope = -wr * in.rstd[i] * in.rstd[i] * sum_gx[i] / m;
    a[i] = static_cast<float>(wr);
    b[i] = static_cast<float>(slope);
    d[i] = static_cast<float>(-wr * sum_g[i] / m - slope * in.mean[i]);
  }
  for_blocks(pool, p.rows, [&](std::int64_t, std::int64_t r, std::int64_t n) {
    apply(
        n, c, in.grad_y + r * c, in.y + r * c, in.x + r * c, a.data(), b.data(), d.data(), p.relu, out.grad_x + r * c);
  });
}

template <class T>
void scale_offset_relu(const BatchNormParams& p, const ScaleOffsetIn<T>& in, T* y, ThreadPool* pool) {
  const std::int64_t c = p.channels;
  const std::vector<float> ones(in.scale ? 0 : c, 1.0f);  // x * 1 is exact
  const float* scale = in.scale ? in.scale : ones.data();
  const auto apply = TTT_PICK(best_isa(), bn::apply);
  for_blocks(pool, p.rows, [&](std::int64_t, std::int64_t r, std::int64_t n) {
    const T* other = in.residual ? in.residual + r * c : nullptr;
    if constexpr (std::is_same_v<T, float>) {
      apply(n, c, in.x + r * c, scale, in.offset, other, p.relu, y + r * c);
    } else {
      std::vector<float> wide(c), wide_other(in.residual ? c : 0);
      for (std::int64_t row = 0; row < n; ++row) {
        for (std::int64_t i = 0; i < c; ++i) wide[i] = widen(in.x[(r + row) * c + i]);
        for (std::int64_t i = 0; i < std::ssize(wide_other); ++i) wide_other[i] = widen(other[row * c + i]);
        apply(1, c, wide.data(), scale, in.offset, in.residual ? wide_other.data() : nullptr, p.relu, wide.data());
        for (std::int64_t i = 0; i < c; ++i) y[(r + row) * c + i] = narrow<T>(wide[i]);
      }
    }
  });
}

template <class T> void offset_gradient(
    const BatchNormParams& p, const OffsetGradIn<T>& in, const OffsetGradOut<T>& out, ThreadPool* pool) {
  constexpr std::int64_t kGroup = kSumRows / kSumGroups;
  const std::int64_t blocks = blocks_of(p.rows), c = p.channels;
  const auto add = TTT_PICK(best_isa(), bn::offset_gradient);
  std::vector<float> partial(static_cast<std::size_t>(blocks * c));
  for_blocks(pool, p.rows, [&](std::int64_t b, std::int64_t first, std::int64_t n) {
    for (std::int64_t r = first; r < first + n; r += kGroup) {
      const std::int64_t rows = std::min(kGroup, first + n - r), at = r * c;
      if constexpr (std::is_same_v<T, float>) {
        add(rows, c, in.grad_y + at, p.relu ? in.y + at : nullptr, p.relu ? out.grad_x + at : nullptr, &partial[b * c]);
      } else {
        const std::vector<float> grad = widened(in.grad_y + at, rows * c);
        if (!p.relu) {
          add(rows, c, grad.data(), nullptr, nullptr, &partial[b * c]);
          continue;
        }
        std::vector<float> masked(grad.size());
        add(rows, c, grad.data(), widened(in.y + at, rows * c).data(), masked.data(), &partial[b * c]);
        std::transform(masked.begin(), masked.end(), out.grad_x + at, [](float v) { return narrow<T>(v); });
      }
    }
  });
  const std::vector<double> sums = total(partial, blocks, c);
  for (std::int64_t i = 0; i < c; ++i) out.grad_offset[i] = static_cast<float>(sums[i]);
}

template void offset_gradient(
    const BatchNormParams&, const OffsetGradIn<float>&, const OffsetGradOut<float>&, ThreadPool*);
template void offset_gradient(
    const BatchNormParams&, const OffsetGradIn<Bfloat16>&, const OffsetGradOut<Bfloat16>&, ThreadPool*);
template void offset_gradient(
    const BatchNormParams&, const OffsetGradIn<Float16>&, const OffsetGradOut<Float16>&, ThreadPool*);
template void scale_offset_relu(const BatchNormParams&, const ScaleOffsetIn<float>&, float*, ThreadPool*);
template void scale_offset_relu(const BatchNormParams&, const ScaleOffsetIn<Bfloat16>&, Bfloat16*, ThreadPool*);
template void scale_offset_relu(const BatchNormParams&, const ScaleOffsetIn<Float16>&, Float16*, ThreadPool*);

}  // namespace ttt::kernels::host
