#include "tests/support/fake_device/unordered_sums.h"

#include <ATen/ops/zeros.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/support/fake_device/fake_device.h"

namespace ttt::test {
namespace {

// Operations whose CUDA kernels add floats with atomics ("Nondeterministic" in torch's notes on reproducibility, and in
// its alertNotDeterministic), of those that a detection model may use. Their arguments: what is added to, ..., and for
// those that add by an index: dimension, index, addends.
const std::set<std::string>& adds_by_index() {
  static const std::set<std::string> all = {
      "aten::scatter_add", "aten::scatter_add_", "aten::index_add", "aten::index_add_"};
  return all;
}
bool adds_in_any_order(const std::string& name) {
  static const std::set<std::string> all = {"aten::put_", "aten::bincount", "aten::histc", "aten::cumsum",
      "aten::embedding_dense_backward", "aten::grid_sampler_2d_backward", "aten::upsample_bilinear2d_backward",
      "aten::upsample_bicubic2d_backward", "aten::_adaptive_avg_pool2d_backward", "aten::adaptive_max_pool2d_backward",
      "aten::max_pool3d_with_indices_backward", "aten::reflection_pad2d_backward", "aten::replication_pad2d_backward",
      "aten::nll_loss2d_forward"};
  return all.contains(name);
}

struct UnorderedSums {
  std::mutex mutex;
  std::map<std::string, std::int64_t> count;
  void note(const std::string& name) {
    const std::lock_guard lock(mutex);
    const std::size_t begin = name.find("::") + 2, end = name.find_last_not_of('_') + 1;  // in place or not
    ++count[name.substr(begin, end - begin)];
  }
};
UnorderedSums& unordered() {
  static UnorderedSums all;
  return all;
}

bool meets_itself(const std::string& name, const torch::jit::Stack& arguments) {
  const at::Tensor addends = on_cpu(arguments[3].toTensor()), index = on_cpu(arguments[2].toTensor());
  const at::Tensor ones = addends.ne(0).to(at::kDouble),
                   counts = at::zeros(arguments[0].toTensor().sizes(), at::kDouble);
  const std::int64_t dimension = arguments[1].toInt();
  return (name.find("scatter") != std::string::npos ? counts.scatter_add(dimension, index, ones)
                                                    : counts.index_add(dimension, index, ones))
      .gt(1)
      .any()
      .item<bool>();
}

}  // namespace

void note_sums(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) {
  const std::string& name = op.schema().name();
  const bool accumulates = (name == "aten::index_put_" || name == "aten::_index_put_impl_") && arguments[3].toBool();
  const bool floats = !arguments.empty() && arguments[0].isTensor() && arguments[0].toTensor().defined() &&
                      arguments[0].toTensor().is_floating_point();
  if (floats &&
      (adds_in_any_order(name) || accumulates || (adds_by_index().contains(name) && meets_itself(name, arguments))))
    unordered().note(name);
}

std::map<std::string, std::int64_t> unordered_sums() {
  const std::lock_guard lock(unordered().mutex);
  return unordered().count;
}
void reset_unordered_sums() {
  const std::lock_guard lock(unordered().mutex);
  unordered().count.clear();
}

}  // namespace ttt::test
