// Clearing a model's gradients. Ours: one fill of the flat allocation that they are views of. Peers: ATen's foreach,
// and one call for each tensor.
// links: ttt_run
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/count_nonzero.h>

#include "bench.h"
#include "models.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Case {
  explicit Case(const RecipeName& which)
      : model(model_of(recipe_of(which))), flat(model->parameters().flat_gradients()) {
    for (const model::Parameter* p : model->parameters().trainable()) gradients.push_back(p->value.grad());
  }
  void ours() { flat.zero_(); }
  void foreach () { at::_foreach_zero_(gradients); }
  void each() {
    for (const at::Tensor& g : gradients) g.zero_();
  }
  std::string disagreement() {
    for (const auto clear : {&Case::ours, &Case::foreach, &Case::each}) {
      flat.fill_(1);
      (this->*clear)();
      for (const at::Tensor& g : gradients)
        if (g.count_nonzero().item<std::int64_t>() != 0) return "zero_grad: a gradient is not cleared";
    }
    return "";
  }
  std::string label() const { return words("%zu tensors, %lld bytes", gradients.size(), (long long)flat.nbytes()); }
  double items() const { return static_cast<double>(flat.nbytes()); }
  static constexpr const char* kItems = "bytes/s";
  std::unique_ptr<model::MaskRcnn> model;
  at::Tensor flat;
  std::vector<at::Tensor> gradients;
};

const bool added = [] {
  for (const RecipeName& r : kRecipes) {
    add<Case>("zero_grad", r, "ours", &Case::ours);
    add<Case>("zero_grad", r, "aten_foreach", &Case::foreach);
    add<Case>("zero_grad", r, "aten_each", &Case::each);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
