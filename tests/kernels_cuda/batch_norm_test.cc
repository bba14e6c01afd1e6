// Normalisation against its host twin: to the bit.
#include "kernels/cuda/batch_norm.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "inputs.h"
#include "kernels/host/batch_norm.h"
#include "kernels/host/batch_norm_loops.h"
#include "twins.h"

namespace ttt::kernels {
namespace {

class Norm : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, bool, bool>> {
 protected:
  void SetUp() override {
    if (host::best_isa() == host::Isa::kBase) GTEST_SKIP() << "the host twin has no fused multiply-add on this CPU";
    std::tie(p.rows, p.channels, p.relu, with_residual) = GetParam();
    Stream s = stream(1100 + static_cast<std::uint64_t>(p.rows + p.channels));
    x = uniform(s, p.rows * p.channels, 2, 4), residual = uniform(s, p.rows * p.channels, -1, 1), grad = uniform(s, p.rows * p.channels, -1, 1);
    weight = uniform(s, p.channels, 0.5, 2), bias = uniform(s, p.channels, -1, 1);
    if (p.rows > 300) x[p.channels * 299] = kNan;
  }
  BatchNormParams p;
  bool with_residual = false;
  std::vector<float> x, residual, grad, weight, bias;
};
INSTANTIATE_TEST_SUITE_P(Shapes, Norm, testing::Combine(testing::Values(1, 255, 257, 600), testing::Values(1, 19, 130), testing::Bool(), testing::Bool()));

TEST_P(Norm, BothPassesHaveTheHostTwinsBits) {
  const std::int64_t n = p.rows * p.channels, c = p.channels;
  std::vector<float> y(n), mean(c), variance(c), rstd(c), grad_x(n), grad_residual(n), grad_weight(c), grad_bias(c);
  const float* none = nullptr;
  host::batch_norm_forward(p, x.data(), weight.data(), bias.data(), with_residual ? residual.data() : none, y.data(), mean.data(), variance.data(), rstd.data());
  host::batch_norm_backward(p, grad.data(), x.data(), y.data(), weight.data(), mean.data(), rstd.data(), grad_x.data(), with_residual ? grad_residual.data() : nullptr,
                            grad_weight.data(), grad_bias.data());
  under_all_schedules([&] {
    auto in = input(x, "x"), r = input(residual, "residual"), g = input(grad, "grad_y"), w = input(weight, "weight"), b = input(bias, "bias");
    auto out = output<float>(n, "y"), m = output<float>(c, "mean"), v = output<float>(c, "variance"), s = output<float>(c, "rstd");
    auto gx = output<float>(n, "grad_x"), gr = output<float>(n, "grad_residual"), gw = output<float>(c, "grad_weight"), gb = output<float>(c, "grad_bias");
    auto workspace = scratch(cuda::batch_norm_workspace(p)), again = scratch(cuda::batch_norm_workspace(p));
    cuda::batch_norm_forward(p, in.get(), w.get(), b.get(), with_residual ? r.get() : nullptr, out.get(), m.get(), v.get(), s.get(), workspace.get(), nullptr);
    expect_same_bits(mean, m, "mean");
    expect_same_bits(variance, v, "variance");
    expect_same_bits(rstd, s, "rstd");
    expect_same_bits(y, out, "y");
    cuda::batch_norm_backward(p, g.get(), in.get(), out.get(), w.get(), m.get(), s.get(), gx.get(), with_residual ? gr.get() : nullptr, gw.get(), gb.get(),
                              again.get(), nullptr);
    expect_same_bits(grad_bias, gb, "grad_bias");
    expect_same_bits(grad_weight, gw, "grad_weight");
    expect_same_bits(grad_x, gx, "grad_x");
    if (with_residual) expect_same_bits(grad_residual, gr, "grad_residual");
  });
}

TEST_P(Norm, FrozenHasTheHostLoopsBitsAlsoInPlace) {
  std::vector<float> want(x.size());
  host::batch_norm_loops(host::best_isa()).apply(p.rows, p.channels, x.data(), weight.data(), bias.data(), with_residual ? residual.data() : nullptr, p.relu, want.data());
  under_all_schedules([&] {
    auto data = in_out(x, "x"), r = input(residual, "residual"), w = input(weight, "scale"), b = input(bias, "offset");
    cuda::scale_offset_relu(p, data.get(), w.get(), b.get(), with_residual ? r.get() : nullptr, data.get(), nullptr);
    expect_same_bits(want, data, "y");
  });
}

}  // namespace
}  // namespace ttt::kernels
