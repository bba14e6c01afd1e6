// Inputs of operations that are measured by themselves.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sum.h>

#include "measure/ablation.h"

namespace ttt::ablations {

// Standard normal, the same for the same seed.
inline at::Tensor normal_tensor(at::IntArrayRef shape, std::uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::TensorOptions().dtype(at::kFloat));
}

// A number that changes with every element of `t` and with their order, whatever their layout in memory: what the gate
// compares. The inner product with a random tensor, which is of the size of t's norm, plus ten times that norm. By
// chance it cannot come near zero, where rounding would be all of it. Of a large tensor, the first entry of its first
// dimension (one image).
inline double signature(const at::Tensor& t) {
  at::NoGradGuard no_grad;
  const at::Tensor part = (t.numel() > 1'000'000 ? t.narrow(0, 0, 1) : t).cpu();
  return (part * normal_tensor(part.sizes(), 7)).sum().item<double>() + 10 * part.norm().item<double>();
}

// The recipe's device, for this rank, with the threads of a training.
inline train::Accelerator accelerator_of(const Bench& bench) {
  const int threads = threads_of_rank(bench.recipe.train.threads, bench.world.team());
  return train::open_accelerator(bench.recipe.device, bench.world.team(), std::make_shared<ThreadPool>(threads));
}

// Ends when the device has computed `last`, the last of its queue. Nothing to wait for on the host.
inline void wait_for(const at::Tensor& last) {
  if (!last.is_cpu()) last.detach().flatten()[0].item<float>();
}

// Images of a step on this rank, as a training would have them.
inline std::int64_t images_of_rank(const Bench& bench) {
  train::TrainConfig train = bench.recipe.train;
  resolve_batch(train, bench.world.team());
  return train.images_per_rank;
}

}  // namespace ttt::ablations
