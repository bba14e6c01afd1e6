// Parts of a run that only tests have, put into its slots: a schedule, an optimizer with three tensors of state, a
// reducer.
#pragma once

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "run/assemble.h"

namespace ttt::test {

class Triangle final : public train::Schedule {
 public:
  Triangle(double lr, std::int64_t steps)
      : Schedule({.kind = "triangle", .lr = lr, .warmup_steps = 0}, {.total_steps = steps}) {}

 private:
  double decay(std::int64_t iteration) const override { return 1 - std::abs(2 * share_done(iteration) - 1); }
};

// Adam (Kingma and Ba 2015).
class Adam final : public train::Optimizer {
 public:
  explicit Adam(model::ParameterStore& store)
      : store_(store), first_(at::zeros_like(store.flat_values())), second_(at::zeros_like(first_)),
        steps_(at::zeros({1}, first_.options())) {}
  void step(const train::Rates& rates) override {
    const at::Tensor gradient = store_.flat_gradients() * rates.gradient_scale;
    steps_.add_(1);
    first_.mul_(0.9).add_(gradient, 0.1);
    second_.mul_(0.999).addcmul_(gradient, gradient, 0.001);
    const double n = steps_.item<double>();
    store_.flat_values().addcdiv_(
        first_ / (1 - std::pow(0.9, n)), (second_ / (1 - std::pow(0.999, n))).sqrt().add_(1e-8), -rates.lr);
  }
  std::vector<train::NamedTensor> state() const override {
    return {{"first_moment", first_}, {"second_moment", second_}, {"steps", steps_}};
  }
  std::string not_capturable() const override { return "its step count is read by the host"; }
  result::Json describe() const override { return {{"kind", "adam"}}; }

 private:
  model::ParameterStore& store_;
  at::Tensor first_, second_, steps_;
};

// Two collectives, one for each half.
class Halves final : public train::Reducer {
 public:
  Halves(at::Tensor& flat, comm::Communicator& comm)
      : data_(flat.data_ptr<float>()), size_(static_cast<std::size_t>(flat.numel())), comm_(comm) {}
  void finish() override {
    comm_.all_reduce_sum(data_, size_ / 2);
    comm_.all_reduce_sum(data_ + size_ / 2, size_ - size_ / 2);
  }
  train::ReducerTraits traits() const override { return {.not_capturable = train::through_host(comm_)}; }
  result::Json describe() const override { return {{"kind", "halves"}}; }

 private:
  float* data_;
  std::size_t size_;
  comm::Communicator& comm_;
};

inline void use_own_parts(Components& c) {
  c.schedule.replace("own parts", [](Run&) { return std::make_unique<Triangle>(1e-4, 24); });
  c.optimizer.replace("own parts", [](Run& run) { return std::make_unique<Adam>(run.parts.model->parameters()); });
  c.reducer.replace("own parts", [](Run& run) {
    return std::make_unique<Halves>(run.parts.model->parameters().flat_gradients(), *run.gradients);
  });
}

}  // namespace ttt::test
