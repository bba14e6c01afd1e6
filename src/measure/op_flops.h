// Floating-point operations of one operator call, from its name and arguments.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string_view>

namespace ttt::roofline {

// Of a convolution or a matrix product, forward or backward, a multiply-add counted as two; nothing for every other
// operator. Throws where the arguments are not those of the operator's schema.
std::optional<std::int64_t> op_flops(std::string_view name, c10::ArrayRef<const c10::IValue> arguments);

// 2 x batch x positions x numel(weight), weight [C_out, C_in / groups, k...] (transposed: [C_in, C_out / groups,
// k...]). Every element of the weight is used once at each position, which is an output's (transposed: an input's). The
// gradients of input and weight cost the same each.
std::int64_t convolution_flops(c10::IntArrayRef input, c10::IntArrayRef weight, c10::IntArrayRef stride,
    c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed);

}  // namespace ttt::roofline
