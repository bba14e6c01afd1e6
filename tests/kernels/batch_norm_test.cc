// Batch normalisation against the formulas of Ioffe and Szegedy (2015, section 3), written out in float64.
#include "kernels/batch_norm/batch_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "core/parallel.h"
#include "guarded.h"
#include "inputs.h"

namespace ttt::kernels {
namespace {

struct Case {
  std::int64_t rows = 0, channels = 0;
  bool relu = false, residual = false;
  double mean = 0, spread = 1;
};

struct Inputs {
  std::vector<float> x, residual, weight, bias, grad;
};

Inputs make(const Case& k, std::uint64_t which) {
  Stream s = stream(which);
  const std::int64_t n = k.rows * k.channels;
  return {uniform(s, n, k.mean - k.spread, k.mean + k.spread), uniform(s, k.residual ? n : 0, -1, 1),
      uniform(s, k.channels, 0.5, 2), uniform(s, k.channels, -1, 1), uniform(s, n, -1, 1)};
}

struct Outputs {
  explicit Outputs(const Case& k)
      : y(k.rows * k.channels), mean(k.channels), variance(k.channels), rstd(k.channels), grad_x(y.size()),
        grad_residual(k.residual ? y.size() : 0), grad_weight(k.channels), grad_bias(k.channels) {}
  Guarded<float> y, mean, variance, rstd, grad_x, grad_residual, grad_weight, grad_bias;
  std::int64_t counted = 0;
};

void run(const Case& k, const Inputs& in, Outputs& out, ThreadPool* pool, const SumOverRanks& sum = {},
    std::int64_t first_row = 0) {
  const BatchNormParams p{.rows = k.rows, .channels = k.channels, .eps = 1e-5f, .relu = k.relu};
  const std::int64_t at = first_row * k.channels;
  out.counted = host::batch_norm_forward(p,
      {&in.x[at], in.weight.data(), in.bias.data(), k.residual ? &in.residual[at] : nullptr},
      {out.y.get(), out.mean.get(), out.variance.get(), out.rstd.get()}, pool, sum);
  host::batch_norm_backward(p, {&in.grad[at], &in.x[at], out.y.get(), in.weight.data(), out.mean.get(), out.rstd.get()},
      {out.grad_x.get(), k.residual ? out.grad_residual.get() : nullptr, out.grad_weight.get(), out.grad_bias.get()},
      pool, sum);
}

// `y` decides where the ReLU passes, as in the kernel: a value within rounding of zero may fall on either side.
// Tolerances are of float32: each output is a few roundings of numbers of its own size. Sums over rows have blocks of
// 256 terms in float32: 2^-24 * 16 of the sum of magnitudes when rounding is random, 256 * 2^-24 at worst.
void expect_right(const Case& k, const Inputs& in, Outputs& out) {
  const double rows = static_cast<double>(k.rows), unit = std::ldexp(1.0, -24);
  for (std::int64_t c = 0; c < k.channels; ++c) {
    SCOPED_TRACE(c);
    double mean = 0, variance = 0;
    for (std::int64_t r = 0; r < k.rows; ++r) mean += in.x[r * k.channels + c] / rows;
    for (std::int64_t r = 0; r < k.rows; ++r) variance += std::pow(in.x[r * k.channels + c] - mean, 2) / rows;
    const double rstd = 1 / std::sqrt(variance + 1e-5f), w = in.weight[c];
    // A rounded mean moves the variance by the square of its rounding, and every y by the rounding over the spread.
    const double shift = std::abs(mean) * unit * rstd;
    ASSERT_NEAR(out.mean[c], mean, 2 * unit * std::abs(mean) + 256 * unit * k.spread);
    ASSERT_NEAR(out.variance[c], variance, 256 * unit * variance + std::pow(mean * unit, 2));
    double dvar = 0, dmean = 0, dweight = 0, dbias = 0, scale = 0;
    std::vector<double> dxhat(k.rows), xhat(k.rows);
    for (std::int64_t r = 0; r < k.rows; ++r) {
      const std::int64_t i = r * k.channels + c;
      xhat[r] = (in.x[i] - mean) * rstd;
      double y = w * xhat[r] + in.bias[c] + (k.residual ? in.residual[i] : 0);
      if (k.relu) y = std::max(y, 0.0);
      ASSERT_NEAR(out.y[i], y, (256 * unit + 4 * shift) * (std::abs(w) + 2)) << r;
      const double g = k.relu && !(out.y[i] > 0) ? 0 : in.grad[i];
      if (k.residual) { ASSERT_EQ(out.grad_residual[i], static_cast<float>(g)); }
      dxhat[r] = g * w;
      dweight += g * xhat[r];
      dbias += g;
      scale += std::abs(g) * (1 + std::abs(xhat[r]));
      dvar += dxhat[r] * (in.x[i] - mean) * -0.5 * std::pow(rstd, 3);
      dmean -= dxhat[r] * rstd;
    }
    ASSERT_NEAR(out.grad_weight[c], dweight, (256 * unit + 4 * shift) * scale);
    ASSERT_NEAR(out.grad_bias[c], dbias, 256 * unit * scale);
    for (std::int64_t r = 0; r < k.rows; ++r) {
      const std::int64_t i = r * k.channels + c;
      const double dx = dxhat[r] * rstd + dvar * 2 * (in.x[i] - mean) / rows + dmean / rows;
      // b * x + d cancels where the mean is large beside the spread.
      ASSERT_NEAR(out.grad_x[i], dx, (256 * unit + 8 * shift) * w * rstd * (1 + scale / rows)) << r;
    }
  }
}

TEST(BatchNorm, AllTails_EqualFormulas) {
  std::uint64_t which = 500;
  ThreadPool pool(2);
  for (const std::int64_t channels : {1, 7, 16, 35, 64})
    for (const std::int64_t rows : {2, 255, 256, 257, 1000})
      for (const bool relu : {false, true})
        for (const bool residual : {false, true}) {
          const Case k{rows, channels, relu, residual};
          SCOPED_TRACE(testing::Message()
                       << rows << " rows, " << channels << " channels, relu " << relu << ", residual " << residual);
          const Inputs in = make(k, which++);
          Outputs out(k);
          run(k, in, out, &pool);
          EXPECT_EQ(out.counted, rows);
          expect_right(k, in, out);
          if (HasFatalFailure()) return;
        }
}

TEST(BatchNorm, LargeMeanSmallSpread_KeepsDigits) {
  // E[x^2] - E[x]^2 in float32 would lose everything here: 1000^2 * 2^-24 is 600 times the variance.
  const Case k{.rows = 4000, .channels = 19, .mean = 1000, .spread = 0.01};
  const Inputs in = make(k, 600);
  Outputs out(k);
  run(k, in, out, nullptr);
  for (std::int64_t c = 0; c < k.channels; ++c) {
    double mean = 0, variance = 0;
    for (std::int64_t r = 0; r < k.rows; ++r) mean += in.x[r * k.channels + c] / static_cast<double>(k.rows);
    for (std::int64_t r = 0; r < k.rows; ++r)
      variance += std::pow(in.x[r * k.channels + c] - mean, 2) / static_cast<double>(k.rows);
    // The mean is rounded to float32 (3e-5 here): its square is what the variance about it is off by.
    EXPECT_NEAR(out.variance[c], variance, 256 * std::ldexp(variance, -24) + std::pow(std::ldexp(1000, -24), 2));
  }
}

// Gradients of y = [max 0](x + offset): of rows that fill no block and no group, and of channels that fill no vector.
TEST(OffsetGradient, AllTails_EqualFormulas) {
  ThreadPool pool(2);
  for (const std::int64_t rows : {1, 31, 33, 257, 700})
    for (const std::int64_t channels : {1, 17, 64})
      for (const bool relu : {false, true}) {
        Stream s = stream(1300 + static_cast<std::uint64_t>(rows + channels));
        const std::vector<float> y = uniform(s, rows * channels, -1, 1);
        std::vector<float> grad(y.size());
        for (float& g : grad) g = static_cast<float>(s.below(9)) - 4;  // whole: sums are exact in every order
        std::vector<float> grad_x(grad.size(), kNan), grad_offset(static_cast<std::size_t>(channels), kNan);
        host::offset_gradient<float>({.rows = rows, .channels = channels, .relu = relu},
            {grad.data(), relu ? y.data() : nullptr}, {relu ? grad_x.data() : nullptr, grad_offset.data()}, &pool);
        std::vector<float> want(static_cast<std::size_t>(channels), 0.0f);
        for (std::size_t i = 0; i < grad.size(); ++i) {
          const float through = relu && y[i] <= 0 ? 0 : grad[i];
          want[i % want.size()] += through;
          if (relu) ASSERT_EQ(grad_x[i], through) << i;
        }
        EXPECT_EQ(grad_offset, want);
      }
}

TEST(BatchNorm, AnyThreads_SameBits) {
  const Case k{.rows = 3001, .channels = 40, .relu = true, .residual = true};
  const Inputs in = make(k, 601);
  Outputs first(k);
  run(k, in, first, nullptr);
  for (int threads = 1; threads <= 3; ++threads) {
    ThreadPool pool(threads);
    Outputs again(k);
    run(k, in, again, &pool);
    EXPECT_TRUE(first.y.same(again.y) && first.grad_x.same(again.grad_x) && first.grad_weight.same(again.grad_weight));
  }
}

// A ReLU that turned NaN into zero would hide a fault from the loss. Channels that fill a vector, and those that do
// not.
TEST(BatchNorm, NanInput_StaysNan) {
  for (const bool relu : {false, true})
    for (const std::int64_t channel : {0, 7, 20, 39}) {
      const Case k{.rows = 50, .channels = 40, .relu = relu};
      Inputs in = make(k, 603);
      in.x[13 * k.channels + channel] = std::numeric_limits<float>::quiet_NaN();
      Outputs out(k);
      run(k, in, out, nullptr);
      for (std::int64_t i = 0; i < k.rows * k.channels; ++i)
        ASSERT_EQ(std::isnan(out.y[i]), i % k.channels == channel) << i;
    }
}

// Ranks as threads: each waits until all have added their part.
TEST(BatchNorm, SynchronisedRanks_EqualOneRank) {
  constexpr int kRanks = 3;
  for (const double mean : {0.0, 30.0}) {
    const Case part{.rows = 301, .channels = 21, .relu = true, .residual = true, .mean = mean};
    Case whole = part;
    whole.rows *= kRanks;
    const Inputs in = make(whole, 602);
    Outputs joined(whole);
    std::vector<std::unique_ptr<Outputs>> parts;
    for (int r = 0; r < kRanks; ++r) parts.push_back(std::make_unique<Outputs>(part));
    std::vector<std::vector<double>> given(kRanks);
    std::barrier barrier(kRanks);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([&, rank] {
        run(
            part, in, *parts[rank], nullptr,
            [&](double* values, std::size_t count) {
              given[rank].assign(values, values + count);
              barrier.arrive_and_wait();
              for (std::size_t i = 0; i < count; ++i) values[i] = given[0][i] + given[1][i] + given[2][i];
              barrier.arrive_and_wait();
            },
            rank * part.rows);
      });
    for (std::thread& t : ranks) t.join();
    for (std::int64_t c = 0; c < part.channels; ++c) {
      double weight = 0, bias = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(parts[rank]->counted, whole.rows);
        EXPECT_EQ(parts[rank]->mean[c], parts[0]->mean[c]);  // every rank holds the same statistics
        EXPECT_EQ(parts[rank]->rstd[c], parts[0]->rstd[c]);
        weight += parts[rank]->grad_weight[c];
        bias += parts[rank]->grad_bias[c];
        const std::int64_t size = part.rows * part.channels;
        std::copy_n(parts[rank]->y.get(), size, joined.y.get() + rank * size);
        std::copy_n(parts[rank]->grad_x.get(), size, joined.grad_x.get() + rank * size);
        std::copy_n(parts[rank]->grad_residual.get(), size, joined.grad_residual.get() + rank * size);
      }
      joined.mean[c] = parts[0]->mean[c];
      joined.variance[c] = parts[0]->variance[c];
      joined.grad_weight[c] = static_cast<float>(weight);
      joined.grad_bias[c] = static_cast<float>(bias);
    }
    expect_right(whole, in, joined);
  }
}

}  // namespace
}  // namespace ttt::kernels
