// The CUDA kernels of the mask head's end against their reference implementation: to the bit.
#include "kernels/mask_logits/mask_logits.h"

#include <gtest/gtest.h>

#include <vector>

#include "same_bits.h"
#include "tests/kernels/mask_logits_inputs.h"

namespace ttt::kernels {
namespace {

// Of the reference implementation, which is float32: its result for the widened numbers, rounded once.
template <class T> void expect_both_passes(const MaskLogitsInputs& t) {
  const std::vector<T> blocks = narrow_all<T>(t.blocks);
  const std::vector<float> wide = widen_all(blocks);
  MaskLogitsIn<float> in = t.in();
  in.blocks = wide.data();
  std::vector<float> logits(t.grad.size());
  MaskLogitsGradients want(t.p);
  host::mask_logits_forward(t.p, in, t.weight_bias.data(), logits.data());
  host::mask_logits_backward(t.p, in, t.grad.data(), want.out());
  under_all_schedules([&] {
    auto x = input(blocks, "blocks");
    auto label = input(t.label, "label");
    auto bias = input(t.bias, "bias"), weight = input(t.weight, "weight"), offset = input(t.weight_bias, "weight_bias"),
         grad = input(t.grad, "grad");
    const MaskLogitsIn<T> device_in{x.get(), label.get(), bias.get(), weight.get()};
    auto out = output<float>(std::ssize(logits), "logits");
    cuda::mask_logits_forward<T>(t.p, device_in, offset.get(), out.get(), nullptr);
    expect_same_bits(logits, out, "logits");
    auto grad_blocks = output<T>(std::ssize(blocks), "gradient of blocks");
    auto grad_bias = output<float>(std::ssize(want.bias), "gradient of bias"),
         grad_weight = output<float>(std::ssize(want.weight), "gradient of weight"),
         grad_offset = output<float>(std::ssize(want.weight_bias), "gradient of weight_bias");
    auto workspace = scratch(cuda::mask_logits_backward_workspace(t.p));
    cuda::mask_logits_backward<T>(t.p, device_in, grad.get(),
        {grad_blocks.get(), grad_bias.get(), grad_weight.get(), grad_offset.get()}, workspace.get(), nullptr);
    expect_same_bits(narrow_all<T>(want.blocks), grad_blocks, "gradient of blocks");
    expect_same_bits(want.bias, grad_bias, "gradient of bias");
    expect_same_bits(want.weight, grad_weight, "gradient of weight");
    expect_same_bits(want.weight_bias, grad_offset, "gradient of weight_bias");
  });
}

class MaskLogits : public FusedTest, public testing::WithParamInterface<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, MaskLogits, testing::Values(1, 7, 8, 20, 64, 256, 264, 300));

TEST_P(MaskLogits, BothPasses_SameBits) {
  const MaskLogitsInputs t(GetParam());
  expect_both_passes<float>(t);
  expect_both_passes<Bfloat16>(t);
  expect_both_passes<Float16>(t);
}

class MaskLogitsRows : public FusedTest {};

// More rows than threads of a block, and as many pixels as a run has.
TEST_F(MaskLogitsRows, Many_SameBits) {
  expect_both_passes<Bfloat16>(MaskLogitsInputs(8, 270, 1));
  expect_both_passes<float>(MaskLogitsInputs(16, 2, 14));
}

}  // namespace
}  // namespace ttt::kernels
