// Batch normalisation over channels-last rows. Neighbouring threads own neighbouring channels and walk down 256 rows:
// reads are coalesced, and every sum has the reference implementation's order. Memory-bound: forward reads x three
// times, backward reads three arrays twice.
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/totals.h"
#include "kernels/common/launch.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 128, kRows = kSumRows;

struct Work {
  float *first, *second;  // [blocks of rows, channels] sums
  float *a, *b, *d;       // [channels] scale and offset; a * g + b * x + d
  // Sums over ranks. Forward: rows * mean, and the squares about zero, which become those about the mean. Backward: the
  // sums of the gradients. And the number of rows.
  double *first_sums, *second_sums, *rows;  // [channels], [channels], [1], contiguous
};

Work work_in(const BatchNormParams& p, Workspace&& memory) {
  Work w{};
  const std::int64_t sums = blocks_for(p.rows, kRows) * p.channels;
  w.first = memory.take<float>(sums);
  w.second = memory.take<float>(sums);
  w.a = memory.take<float>(p.channels);
  w.b = memory.take<float>(p.channels);
  w.d = memory.take<float>(p.channels);
  w.first_sums = memory.take<double>(2 * p.channels + 1);
  w.second_sums = w.first_sums == nullptr ? nullptr : w.first_sums + p.channels;
  w.rows = w.first_sums == nullptr ? nullptr : w.second_sums + p.channels;
  return w;
}

// One thread's part of a sum: a channel of 256 rows.
struct Column {
  std::int64_t channel, begin, end, at;  // elements [begin, end) by steps of channels; at: of the sums
  bool exists;
  __device__ Column(const BatchNormParams& p)
      : channel(static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x),
        begin(static_cast<std::int64_t>(blockIdx.x) * kRows * p.channels + channel),
        end(min((static_cast<std::int64_t>(blockIdx.x) + 1) * kRows, p.rows) * p.channels),
        at(blockIdx.x * p.channels + channel), exists(channel < p.channels) {}
};

template <bool kSquares> __global__ void __launch_bounds__(kThreads)
    sum_rows(BatchNormParams p, const float* x, const float* shift, float* sums) {
  const Column c(p);
  if (!c.exists) return;
  const float from = shift[c.channel];
  float sum = 0;
  for (std::int64_t i = c.begin; i < c.end; i += p.channels) {
    const float d = x[i] - from;
    sum = kSquares ? fmaf(d, d, sum) : sum + d;
  }
  sums[c.at] = sum;
}

__device__ std::int64_t own_channel() { return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; }

// The first row is the shift: sums of differences keep their digits where the mean is large beside the spread.
__global__ void __launch_bounds__(kTotalThreads) finish_mean(BatchNormParams p, const float* x, Work w, float* mean) {
  const Totals totals(p);
  const double sum = totals.of(w.first);
  if (!totals.finishes()) return;
  const std::int64_t c = totals.channel();
  mean[c] = static_cast<float>(static_cast<double>(x[c]) + sum / static_cast<double>(p.rows));
}

// This rank's terms of the sums over ranks: about zero, since each rank has a mean of its own.
__global__ void __launch_bounds__(kTotalThreads) moments_of_rank(BatchNormParams p, const float* mean, Work w) {
  const Totals totals(p);
  const double squares = totals.of(w.first);
  if (!totals.finishes()) return;
  const std::int64_t c = totals.channel();
  const auto rows = static_cast<double>(p.rows), m = static_cast<double>(mean[c]);
  w.first_sums[c] = rows * m;
  w.second_sums[c] = squares + rows * m * m;
  if (c == 0) *w.rows = rows;
}

__global__ void __launch_bounds__(kThreads) moments_of_all(BatchNormParams p, Work w, float* mean) {
  const std::int64_t c = own_channel();
  if (c >= p.channels) return;
  const double rows = *w.rows, m = w.first_sums[c] / rows, squares = w.second_sums[c] - rows * m * m;
  mean[c] = static_cast<float>(m);
  w.second_sums[c] = squares > 0.0 ? squares : 0.0;
}

// over_ranks: squares and rows of all ranks instead of this one's.
__global__ void __launch_bounds__(kTotalThreads) finish_variance(BatchNormParams p, bool over_ranks,
    const float* weight, const float* bias, const float* mean, Work w, float* variance, float* rstd) {
  const Totals totals(p);
  const double squares = over_ranks ? 0.0 : totals.of(w.first);
  if (!totals.finishes()) return;
  const std::int64_t c = totals.channel();
  const double v = over_ranks ? w.second_sums[c] / *w.rows : squares / static_cast<double>(p.rows);
  variance[c] = static_cast<float>(v);
  const auto r = static_cast<float>(1.0 / sqrt(v + static_cast<double>(p.eps)));
  rstd[c] = r;
  const float scale = weight[c] * r;
  w.a[c] = scale;
  w.b[c] = bias[c] - mean[c] * scale;
}

__device__ float behind_relu(const BatchNormParams& p, float grad, float y) {
  return !p.relu || y > 0.0f ? grad : 0.0f;
}

__global__ void __launch_bounds__(kThreads) sum_gradients(BatchNormParams p, const float* grad_y, const float* x,
    const float* y, const float* mean, float* grad_residual, Work w) {
  const Column c(p);
  if (!c.exists) return;
  const float from = mean[c.channel];
  float sum = 0, sum_x = 0;
  for (std::int64_t i = c.begin; i < c.end; i += p.channels) {
    const float g = behind_relu(p, grad_y[i], y[i]);
    sum += g;
    sum_x = fmaf(g, x[i] - from, sum_x);
    if (grad_residual != nullptr) grad_residual[i] = g;
  }
  w.first[c.at] = sum;
  w.second[c.at] = sum_x;
}

__global__ void __launch_bounds__(kTotalThreads)
    finish_gradients(BatchNormParams p, const float* rstd, Work w, float* grad_weight, float* grad_bias) {
  const Totals totals(p);
  const double sum = totals.of(w.first), sum_x = totals.of(w.second);
  if (!totals.finishes()) return;
  const std::int64_t c = totals.channel();
  grad_bias[c] = static_cast<float>(sum);
  grad_weight[c] = static_cast<float>(sum_x * static_cast<double>(rstd[c]));
  w.first_sums[c] = sum;
  w.second_sums[c] = sum_x;
  if (c == 0) *w.rows = static_cast<double>(p.rows);
}

__global__ void __launch_bounds__(kThreads)
    slopes(BatchNormParams p, const float* weight, const float* mean, const float* rstd, Work w) {
  const std::int64_t c = own_channel();
  if (c >= p.channels) return;
  const double sum = w.first_sums[c], sum_x = w.second_sums[c], r = static_cast<double>(rstd[c]), m = *w.rows;
  // dx = w rstd (g - mean(g) - (x - mean) rstd^2 mean(g (x - mean))), as a * g + b * x + d
  const double wr = static_cast<double>(weight[c]) * r, slope = -wr * r * r * sum_x / m;
  w.a[c] = static_cast<float>(wr);
  w.b[c] = static_cast<float>(slope);
  w.d[c] = static_cast<float>(-wr * sum / m - slope * static_cast<double>(mean[c]));
}

__global__ void __launch_bounds__(kThreads)
    apply_gradients(BatchNormParams p, const float* grad_y, const float* x, const float* y, Work w, float* grad_x) {
  const Column c(p);
  if (!c.exists) return;
  const float a = w.a[c.channel], b = w.b[c.channel], d = w.d[c.channel];
  for (std::int64_t i = c.begin; i < c.end; i += p.channels)
    grad_x[i] = fmaf(a, behind_relu(p, grad_y[i], y[i]), fmaf(b, x[i], d));
}

Shape by_rows(const BatchNormParams& p) {
  return {.x = blocks_for(p.rows, kRows), .y = blocks_for(p.channels, kThreads), .threads = kThreads};
}
Shape by_channels(const BatchNormParams& p) { return {.x = blocks_for(p.channels, kThreads), .threads = kThreads}; }

}  // namespace

std::size_t batch_norm_workspace(const BatchNormParams& p) { return workspace_bytes(work_in, p); }

void batch_norm_forward(const BatchNormParams& p, const BatchNormIn& in, const BatchNormOut& out, void* workspace,
    cudaStream_t stream, const SumOverRanks& sum_over_ranks) {
  const Work w = work_in(p, Workspace(workspace));
  const bool over_ranks = static_cast<bool>(sum_over_ranks);
  launch("batch_norm_sum", sum_rows<false>, by_rows(p), stream, p, in.x, in.x, w.first);
  launch("batch_norm_mean", finish_mean, by_totals(p), stream, p, in.x, w, out.mean);
  launch("batch_norm_squares", sum_rows<true>, by_rows(p), stream, p, in.x, out.mean, w.first);
  if (over_ranks) {
    launch("batch_norm_moments_of_rank", moments_of_rank, by_totals(p), stream, p, out.mean, w);
    sum_over_ranks(w.first_sums, static_cast<std::size_t>(2 * p.channels + 1));
    launch("batch_norm_moments_of_all", moments_of_all, by_channels(p), stream, p, w, out.mean);
  }
  launch("batch_norm_variance", finish_variance, by_totals(p), stream, p, over_ranks, in.weight, in.bias, out.mean, w,
      out.variance, out.rstd);
  scale_offset_relu(p, {in.x, w.a, w.b, in.residual}, out.y, stream);
}

void batch_norm_backward(const BatchNormParams& p, const BatchNormGradIn& in, const BatchNormGradOut& out,
    void* workspace, cudaStream_t stream, const SumOverRanks& sum_over_ranks) {
  const Work w = work_in(p, Workspace(workspace));
  launch("batch_norm_gradient_sums", sum_gradients, by_rows(p), stream, p, in.grad_y, in.x, in.y, in.mean,
      out.grad_residual, w);
  launch("batch_norm_gradients", finish_gradients, by_totals(p), stream, p, in.rstd, w, out.grad_weight, out.grad_bias);
  if (sum_over_ranks) sum_over_ranks(w.first_sums, static_cast<std::size_t>(2 * p.channels + 1));
  launch("batch_norm_slopes", slopes, by_channels(p), stream, p, in.weight, in.mean, in.rstd, w);
  launch("batch_norm_apply_gradients", apply_gradients, by_rows(p), stream, p, in.grad_y, in.x, in.y, w, out.grad_x);
}

}  // namespace ttt::kernels::cuda
