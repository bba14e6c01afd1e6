// How many accesses a thread makes one after the other: what a kernel waits for at least, however many threads it has.
#include <gtest/gtest.h>

#include "backend.h"
#include "kernels/batch_norm/batch_norm.h"
#include "tests/support/emulator/emulator.h"

namespace ttt::kernels {
namespace {

// Of both passes over one channel.
std::int64_t longest_chain(std::int64_t rows) {
  BatchNormParams p;
  p.rows = rows, p.channels = 1;
  const std::vector<float> values(static_cast<std::size_t>(rows), 1.0f), one = {1.0f};
  auto x = input(values, "x"), weight = input(one, "weight"), bias = input(one, "bias");
  auto y = output<float>(rows, "y"), mean = output<float>(1, "mean"), variance = output<float>(1, "variance"),
       rstd = output<float>(1, "rstd"), grad_x = output<float>(rows, "grad_x"), grad_weight = output<float>(1, "gw"),
       grad_bias = output<float>(1, "gb");
  auto workspace = scratch(cuda::batch_norm_workspace(p)), again = scratch(cuda::batch_norm_workspace(p));
  emulation::take_most_accesses();
  cuda::batch_norm_forward(p, {x.get(), weight.get(), bias.get(), nullptr},
      {y.get(), mean.get(), variance.get(), rstd.get()}, workspace.get(), nullptr);
  cuda::batch_norm_backward(p, {x.get(), x.get(), y.get(), weight.get(), mean.get(), rstd.get()},
      {grad_x.get(), nullptr, grad_weight.get(), grad_bias.get()}, again.get(), nullptr);
  return emulation::take_most_accesses();
}

// Two images of 1,024 x 1,024 pixels have 8,192 blocks of rows. By one thread these would be 16,384 loads.
TEST(Chains, BatchNorm_IndependentOfRows) {
  const std::int64_t few = longest_chain(256);
  if (few == 0) GTEST_SKIP() << "accesses are not counted in this build";
  EXPECT_GE(few, 256);
  EXPECT_LE(longest_chain(256 * 1024), few);
}

}  // namespace
}  // namespace ttt::kernels
