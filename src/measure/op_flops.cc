#include "measure/op_flops.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <numeric>
#include <string>
#include <unordered_map>

namespace ttt::roofline {
namespace {

using Arguments = c10::ArrayRef<const c10::IValue>;

std::int64_t product(c10::IntArrayRef shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

c10::IntArrayRef shape(const c10::IValue& tensor) { return tensor.toTensor().sizes(); }

// Arguments of a convolution by position: input, weight, and these.
struct Positions {
  std::size_t stride, padding, dilation;
  std::optional<std::size_t> transposed;
};

std::int64_t convolution(Arguments a, const Positions& at) {
  const auto stride = a[at.stride].toDimVector(), padding = a[at.padding].toDimVector(),
             dilation = a[at.dilation].toDimVector();
  return convolution_flops(
      shape(a[0]), shape(a[1]), stride, padding, dilation, at.transposed && a[*at.transposed].toBool());
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)
std::int64_t convolution_backward(Arguments a) {
  const auto mask = a[10].toBoolList();
  const std::int64_t positions = product(shape(a[7].toBool() ? a[1] : a[0]).slice(2));
  return (int{mask[0]} + int{mask[1]}) * 2 * shape(a[1])[0] * positions * product(shape(a[2]));
}

// [..., m, k] x [..., k, n]
std::int64_t matrices(const c10::IValue& a, const c10::IValue& b) { return 2 * product(shape(a)) * shape(b).back(); }

using Formula = std::int64_t (*)(Arguments);
constexpr Positions kGeneral{3, 4, 5, 6};
std::int64_t general(Arguments a) { return convolution(a, kGeneral); }
std::int64_t onednn(Arguments a) { return convolution(a, {4, 3, 5, {}}); }
std::int64_t product_of_first(Arguments a) { return matrices(a[0], a[1]); }
std::int64_t product_added(Arguments a) { return matrices(a[1], a[2]); }

}  // namespace

std::int64_t convolution_flops(c10::IntArrayRef input, c10::IntArrayRef weight, c10::IntArrayRef stride,
    c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed) {
  // A list of one number stands for every dimension.
  const auto of = [](c10::IntArrayRef list, std::size_t d) { return list[list.size() == 1 ? 0 : d]; };
  std::int64_t positions = 1;
  for (std::size_t d = 0; d + 2 < input.size(); ++d) {
    const std::int64_t extent = of(dilation, d) * (weight[d + 2] - 1) + 1;
    positions *= transposed ? input[d + 2] : (input[d + 2] + 2 * of(padding, d) - extent) / of(stride, d) + 1;
  }
  return 2 * input[0] * positions * product(weight);
}

std::optional<std::int64_t> op_flops(std::string_view name, Arguments arguments) {
  // An operator that calls another of these is here beside it: the outermost counts.
  static const std::unordered_map<std::string_view, Formula> formulas = {{"aten::convolution", general},
      {"aten::_convolution", general}, {"aten::convolution_overrideable", general},
      {"aten::mkldnn_convolution", onednn}, {"aten::convolution_backward", convolution_backward},
      {"aten::mm", product_of_first}, {"aten::bmm", product_of_first}, {"aten::addmm", product_added},
      {"aten::addmm_", product_added}, {"aten::baddbmm", product_added}, {"aten::baddbmm_", product_added}};
  const auto found = formulas.find(name);
  if (found == formulas.end()) return std::nullopt;
  return found->second(arguments);
}

}  // namespace ttt::roofline
