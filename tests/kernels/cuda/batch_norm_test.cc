// CUDA kernels of normalisation against their reference implementation: to the bit.
#include "kernels/batch_norm/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

class Norm : public FusedTest, public testing::WithParamInterface<std::tuple<std::int64_t, std::int64_t, bool, bool>> {
 protected:
  void SetUp() override {
    FusedTest::SetUp();
    std::tie(p.rows, p.channels, p.relu, with_residual) = GetParam();
    Stream s = stream(1100 + static_cast<std::uint64_t>(p.rows + p.channels));
    x = uniform(s, p.rows * p.channels, 2, 4), residual = uniform(s, p.rows * p.channels, -1, 1),
    grad = uniform(s, p.rows * p.channels, -1, 1);
    weight = uniform(s, p.channels, 0.5, 2), bias = uniform(s, p.channels, -1, 1);
    if (p.rows > 300) x[p.channels * 299] = kNan;
  }
  BatchNormParams p;
  bool with_residual = false;
  std::vector<float> x, residual, grad, weight, bias;
};
INSTANTIATE_TEST_SUITE_P(Shapes, Norm,
    testing::Combine(
        testing::Values(1, 255, 257, 600), testing::Values(1, 19, 64, 130), testing::Bool(), testing::Bool()));
// More blocks of rows than parts of a sum.
INSTANTIATE_TEST_SUITE_P(ManyRows, Norm,
    testing::Combine(testing::Values(8500), testing::Values(3), testing::Values(true), testing::Values(false)));

TEST_P(Norm, BothPasses_SameBits) {
  const std::int64_t n = p.rows * p.channels, c = p.channels;
  std::vector<float> y(n), mean(c), variance(c), rstd(c), grad_x(n), grad_residual(n), grad_weight(c), grad_bias(c);
  host::batch_norm_forward(p, {x.data(), weight.data(), bias.data(), with_residual ? residual.data() : nullptr},
      {y.data(), mean.data(), variance.data(), rstd.data()});
  host::batch_norm_backward(p, {grad.data(), x.data(), y.data(), weight.data(), mean.data(), rstd.data()},
      {grad_x.data(), with_residual ? grad_residual.data() : nullptr, grad_weight.data(), grad_bias.data()});
  under_all_schedules([&] {
    auto in = input(x, "x"), r = input(residual, "residual"), g = input(grad, "grad_y"), w = input(weight, "weight"),
         b = input(bias, "bias");
    auto out = output<float>(n, "y"), m = output<float>(c, "mean"), v = output<float>(c, "variance"),
         s = output<float>(c, "rstd");
    auto gx = output<float>(n, "grad_x"), gr = output<float>(n, "grad_residual"), gw = output<float>(c, "grad_weight"),
         gb = output<float>(c, "grad_bias");
    auto workspace = scratch(cuda::batch_norm_workspace(p)), again = scratch(cuda::batch_norm_workspace(p));
    cuda::batch_norm_forward(p, {in.get(), w.get(), b.get(), with_residual ? r.get() : nullptr},
        {out.get(), m.get(), v.get(), s.get()}, workspace.get(), nullptr);
    expect_same_bits(mean, m, "mean");
    expect_same_bits(variance, v, "variance");
    expect_same_bits(rstd, s, "rstd");
    expect_same_bits(y, out, "y");
    cuda::batch_norm_backward(p, {g.get(), in.get(), out.get(), w.get(), m.get(), s.get()},
        {gx.get(), with_residual ? gr.get() : nullptr, gw.get(), gb.get()}, again.get(), nullptr);
    expect_same_bits(grad_bias, gb, "grad_bias");
    expect_same_bits(grad_weight, gw, "grad_weight");
    expect_same_bits(grad_x, gx, "grad_x");
    if (with_residual) expect_same_bits(grad_residual, gr, "grad_residual");
  });
}

// Two ranks with the same sums: both implementations give the callback the same values and use the sums it returns.
TEST_P(Norm, TwoRanks_SameBits) {
  const std::int64_t n = p.rows * p.channels, c = p.channels;
  std::vector<float> y(n), mean(c), variance(c), rstd(c), grad_x(n), grad_weight(c), grad_bias(c);
  std::vector<std::vector<double>> given;
  const SumOverRanks doubled = [&](double* values, std::size_t count) {
    given.emplace_back(values, values + count);
    for (std::size_t i = 0; i < count; ++i) values[i] *= 2;
  };
  const BatchNormIn in{x.data(), weight.data(), bias.data(), nullptr};
  EXPECT_EQ(host::batch_norm_forward(p, in, {y.data(), mean.data(), variance.data(), rstd.data()}, nullptr, doubled),
      2 * p.rows);
  host::batch_norm_backward(p, {grad.data(), x.data(), y.data(), weight.data(), mean.data(), rstd.data()},
      {grad_x.data(), nullptr, grad_weight.data(), grad_bias.data()}, nullptr, doubled);
  under_all_schedules([&] {
    std::size_t calls = 0;
    const SumOverRanks sum = [&](double* values, std::size_t count) {
      ASSERT_LT(calls, given.size());
      std::vector<double> here = from_device(values, count);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(here[i] == given[calls][i] || (std::isnan(here[i]) && std::isnan(given[calls][i])))
            << calls << " " << i;
      for (double& v : here) v *= 2;
      to_device(here, values);
      ++calls;
    };
    auto in = input(x, "x"), g = input(grad, "grad_y"), w = input(weight, "weight"), b = input(bias, "bias");
    auto out = output<float>(n, "y"), m = output<float>(c, "mean"), v = output<float>(c, "variance"),
         s = output<float>(c, "rstd");
    auto gx = output<float>(n, "grad_x"), gw = output<float>(c, "grad_weight"), gb = output<float>(c, "grad_bias");
    auto workspace = scratch(cuda::batch_norm_workspace(p)), again = scratch(cuda::batch_norm_workspace(p));
    cuda::batch_norm_forward(p, {in.get(), w.get(), b.get(), nullptr}, {out.get(), m.get(), v.get(), s.get()},
        workspace.get(), nullptr, sum);
    expect_same_bits(mean, m, "mean");
    expect_same_bits(variance, v, "variance");
    expect_same_bits(y, out, "y");
    cuda::batch_norm_backward(p, {g.get(), in.get(), out.get(), w.get(), m.get(), s.get()},
        {gx.get(), nullptr, gw.get(), gb.get()}, again.get(), nullptr, sum);
    expect_same_bits(grad_x, gx, "grad_x");
    expect_same_bits(grad_weight, gw, "grad_weight");
    expect_same_bits(grad_bias, gb, "grad_bias");
    EXPECT_EQ(calls, 2u);
  });
}

// In place, with a scale and without.
template <class T> void expect_scale_offset_relu(const BatchNormParams& p, const std::vector<T>& x,
    const std::vector<float>& scale, const std::vector<float>& offset, const std::vector<T>& residual) {
  const auto or_null = [](auto* p, const auto& values) { return values.empty() ? nullptr : p; };
  std::vector<T> want = x;
  host::scale_offset_relu(
      p, {want.data(), or_null(scale.data(), scale), offset.data(), or_null(residual.data(), residual)}, want.data());
  under_all_schedules([&] {
    auto data = in_out(x, "x"), r = input(residual, "residual");
    auto w = input(scale, "scale"), b = input(offset, "offset");
    cuda::scale_offset_relu<T>(
        p, {data.get(), or_null(w.get(), scale), b.get(), or_null(r.get(), residual)}, data.get(), nullptr);
    expect_same_bits(want, data, "y");
  });
}

TEST_P(Norm, ScaleOffsetRelu_SameBits) {
  const std::vector<float> added = with_residual ? residual : std::vector<float>();
  for (const std::vector<float>& scale : {weight, std::vector<float>()}) {
    expect_scale_offset_relu(p, x, scale, bias, added);
    expect_scale_offset_relu(p, narrow_all<Bfloat16>(x), scale, bias, narrow_all<Bfloat16>(added));
    expect_scale_offset_relu(p, narrow_all<Float16>(x), scale, bias, narrow_all<Float16>(added));
  }
}

// Of the reference implementation's; the gradient passes where a result is above 0.
template <class T>
void expect_offset_gradient(const BatchNormParams& p, const std::vector<T>& grad, const std::vector<T>& y) {
  const std::int64_t n = std::ssize(grad);
  std::vector<T> grad_x(p.relu ? grad.size() : 0);
  std::vector<float> grad_offset(static_cast<std::size_t>(p.channels));
  host::offset_gradient<T>(
      p, {grad.data(), p.relu ? y.data() : nullptr}, {p.relu ? grad_x.data() : nullptr, grad_offset.data()});
  under_all_schedules([&] {
    auto g = input(grad, "grad_y"), of_y = input(y, "y");
    auto gx = output<T>(p.relu ? n : 0, "grad_x");
    auto go = output<float>(p.channels, "grad_offset");
    auto workspace = scratch(cuda::offset_gradient_workspace(p));
    cuda::offset_gradient<T>(
        p, {g.get(), p.relu ? of_y.get() : nullptr}, {p.relu ? gx.get() : nullptr, go.get()}, workspace.get(), nullptr);
    expect_same_bits(grad_x, gx, "grad_x");
    expect_same_bits(grad_offset, go, "grad_offset");
  });
}

TEST_P(Norm, OffsetGradient_SameBits) {
  expect_offset_gradient(p, grad, residual);
  expect_offset_gradient(p, narrow_all<Bfloat16>(grad), narrow_all<Bfloat16>(residual));
  expect_offset_gradient(p, narrow_all<Float16>(grad), narrow_all<Float16>(residual));
}

}  // namespace
}  // namespace ttt::kernels
