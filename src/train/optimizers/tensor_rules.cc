// The updates as lists of tensors. Each follows the order of roundings of the fused one where lists have it.
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include "train/optimizers/parameter_norms.h"
#include "train/optimizers/tensor_optimizer.h"

namespace ttt::train {
namespace {

using Tensors = std::vector<at::Tensor>;

// [tensors] float64
at::Tensor norms_of(const Tensors& tensors) { return at::stack(at::_foreach_norm(tensors)).to(at::kDouble); }
Tensors each_of(const at::Tensor& numbers) { return numbers.to(at::kFloat).unbind(); }
at::Tensor adapted(const at::Tensor& norms, bool yes) {
  return yes ? norms.new_ones(norms.sizes()) : norms.new_zeros(norms.sizes());
}

Tensors with_decay(const TensorUpdate& u) {
  return u.weight_decay == 0 ? u.gradients : at::_foreach_add(u.gradients, u.values, u.weight_decay);
}

// Adam's moments after this update, and its direction.
Tensors adam_direction(TensorUpdate& u, const OptimizerConfig& c) {
  Tensors &first = u.state[0], &second = u.state[1];
  at::_foreach_lerp_(first, u.gradients, 1 - c.beta1);
  at::_foreach_mul_(second, c.beta2);
  at::_foreach_addcmul_(second, u.gradients, u.gradients, 1 - c.beta2);
  const auto t = static_cast<double>(u.number_of_update);
  Tensors below = at::_foreach_sqrt(second);
  at::_foreach_div_(below, std::sqrt(1 - std::pow(c.beta2, t)));
  at::_foreach_add_(below, c.eps);
  Tensors direction = at::_foreach_div(first, 1 - std::pow(c.beta1, t));
  at::_foreach_div_(direction, below);
  return direction;
}

}  // namespace

TensorRule sgd_rule(const OptimizerConfig& config) {
  return {.state = {"momentum"}, .number = "", .update = [c = config](TensorUpdate& u) {
            Tensors& momentum = u.state[0];
            at::_foreach_mul_(momentum, c.momentum);
            if (!c.nesterov) {
              at::_foreach_add_(momentum, u.gradients, 1);
              if (u.weight_decay > 0) at::_foreach_add_(momentum, u.values, u.weight_decay);
              at::_foreach_add_(u.values, momentum, -u.lr);
              return;
            }
            const Tensors gradients = with_decay(u);
            at::_foreach_add_(momentum, gradients, 1);
            at::_foreach_add_(u.values, at::_foreach_add(gradients, momentum, c.momentum), -u.lr);
          }};
}

TensorRule adamw_rule(const OptimizerConfig& config) {
  return {.state = {"first_moment", "second_moment"},
      .number = "",
      .counts = true,
      .update = [c = config](TensorUpdate& u) {
        const Tensors direction = adam_direction(u, c);
        if (u.weight_decay > 0) at::_foreach_mul_(u.values, 1 - u.lr * u.weight_decay);
        at::_foreach_add_(u.values, direction, -u.lr);
      }};
}

TensorRule lars_rule(const OptimizerConfig& config) {
  return {.state = {"momentum"}, .number = "", .update = [c = config](TensorUpdate& u) {
            Tensors& momentum = u.state[0];
            const at::Tensor weight = norms_of(u.values);
            const at::Tensor below = (norms_of(u.gradients) + weight * u.weight_decay + c.eps) / c.trust;
            const at::Tensor rate = trust_ratio(weight, below, adapted(weight, u.weight_decay != 0)) * u.lr;
            Tensors steps = at::_foreach_mul(with_decay(u), each_of(rate));
            at::_foreach_mul_(momentum, c.momentum);
            at::_foreach_add_(momentum, steps, 1);
            if (c.nesterov) at::_foreach_add_(steps, momentum, c.momentum);
            at::_foreach_add_(u.values, c.nesterov ? steps : momentum, -1);
          }};
}

TensorRule lamb_rule(const OptimizerConfig& config, bool adapt_all) {
  return {.state = {"first_moment", "second_moment"},
      .number = "",
      .counts = true,
      .update = [c = config, adapt_all](TensorUpdate& u) {
        Tensors direction = adam_direction(u, c);
        if (u.weight_decay > 0) at::_foreach_add_(direction, u.values, u.weight_decay);
        const at::Tensor weight = norms_of(u.values);
        const at::Tensor ratio =
            trust_ratio(weight, norms_of(direction), adapted(weight, adapt_all || u.weight_decay != 0));
        at::_foreach_mul_(direction, each_of(ratio));
        at::_foreach_add_(u.values, direction, -u.lr);
      }};
}

TensorRule novograd_rule(const OptimizerConfig& config) {
  return {.state = {"first_moment"},
      .number = "second_moment",
      .counts = config.bias_correction,
      .update = [c = config](TensorUpdate& u) {
        Tensors& first = u.state[0];
        const at::Tensor squares = norms_of(u.gradients).square();
        const at::Tensor second = at::stack(u.numbers).squeeze(1);
        const at::Tensor next = novograd_second_moment(c, second, squares.to(at::kFloat));
        for (std::size_t i = 0; i < u.numbers.size(); ++i) u.numbers[i].copy_(next[static_cast<std::int64_t>(i)]);
        double lr = u.lr;
        at::Tensor root = next.sqrt();
        if (c.bias_correction) {
          const auto t = static_cast<double>(u.number_of_update);
          lr /= 1 - std::pow(c.beta1, t);
          root = root / std::sqrt(1 - std::pow(c.beta2, t));
        }
        Tensors gradients = at::_foreach_div(u.gradients, each_of(root + c.eps));
        if (u.weight_decay > 0) at::_foreach_add_(gradients, u.values, u.weight_decay);
        at::_foreach_mul_(first, c.beta1);
        at::_foreach_add_(first, gradients, c.grad_averaging ? 1 - c.beta1 : 1);
        at::_foreach_add_(u.values, first, -lr);
      }};
}

}  // namespace ttt::train
