// Muon (Jordan et al. 2024, as PyTorch has it): the momentum of each matrix is made orthogonal, about, by five
// iterations of Newton and Schulz. A kernel of a convolution is a matrix of its first dimension by all the rest. What
// is no matrix is updated by AdamW. The iterations are in float32; PyTorch's are in bfloat16.
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "train/optimizers/adam.h"

namespace ttt::train {
namespace {

constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;  // the polynomial a x + b x^3 + c x^5 of Jordan et al.
constexpr double kLeastNorm = 1e-7;

// matrices: [count, rows, columns] -> matrices whose singular values are all near 1
at::Tensor orthogonal(const at::Tensor& matrices) {
  const bool tall = matrices.size(1) > matrices.size(2);
  at::Tensor x = tall ? matrices.transpose(1, 2) : matrices;
  x = x / at::linalg_vector_norm(x, 2, {1, 2}, /*keepdim=*/true).clamp_min(kLeastNorm);
  for (int i = 0; i < kIterations; ++i) {
    const at::Tensor gram = at::bmm(x, x.transpose(1, 2));
    x = at::baddbmm(x, at::baddbmm(gram, gram, gram, kB, kC), x, kA);
  }
  return tall ? x.transpose(1, 2) : x;
}

bool is_matrix(const model::Parameter& p) { return p.shape.size() >= 2; }

class Muon final : public FusedOptimizer {
 public:
  Muon(const OptimizerConfig& config, const OptimizerInputs& in)
      : FusedOptimizer(config, in, Grouping::kPerParameter), first_(at::zeros_like(in.store.flat_values())),
        second_(at::zeros({count_of_others()}, first_.options())), updates_(at::zeros({1}, first_.options())),
        pieces_(pieces_of_others()) {
    const std::vector<model::Parameter*>& all = in.store.trainable();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_matrix(*all[i])) add(*all[i], ranges_[i]);
  }
  std::vector<NamedTensor> state() const override {
    return {{"momentum", first_}, {"second_moment", second_}, {"updates", updates_, /*is_count=*/true}};
  }

 private:
  struct Batch {  // of one shape, rate and decay
    std::int64_t rows = 0, columns = 0;
    double lr_factor = 1, weight_decay = 0;
    std::vector<at::Tensor> values, gradients, momentum;  // [rows, columns], views of the flat arrays
  };

  std::int64_t count_of_others() const {
    std::int64_t count = 0;
    for (const model::Parameter* p : store_.trainable())
      if (!is_matrix(*p)) count += p->count;
    return count;
  }

  // Second moments of what is no matrix lie one after the other.
  PieceTable<kernels::AdamTensor> pieces_of_others() const {
    std::vector<UpdateRange> others;
    std::map<std::int64_t, std::int64_t> second_of;  // by where a range begins
    std::int64_t count = 0;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const model::Parameter& p = *store_.trainable()[i];
      if (is_matrix(p)) continue;
      others.push_back(ranges_[i]);
      second_of[p.offset] = count;
      count += p.count;
    }
    const float* g = store_.flat_gradients().const_data_ptr<float>();
    float *m = first_.mutable_data_ptr<float>(), *v = second_.mutable_data_ptr<float>(),
          *w = store_.flat_values().data_ptr<float>();
    return {first_.device(), others, [&](kernels::AdamTensor& piece, std::int64_t at, const UpdateRange& r) {
              piece.grad = g + at, piece.first = m + at, piece.weight = w + at;
              piece.second = v + second_of.at(r.begin) + (at - r.begin);
              piece.weight_decay = static_cast<float>(r.weight_decay);
            }};
  }

  void add(const model::Parameter& p, const UpdateRange& r) {
    const std::int64_t rows = p.shape[0], columns = p.count / rows;
    const auto matrix = [&](const at::Tensor& flat) { return flat.narrow(0, p.offset, p.count).view({rows, columns}); };
    Batch* batch = nullptr;
    for (Batch& b : batches_)
      if (config_.implementation == "fused" && b.rows == rows && b.columns == columns && b.lr_factor == r.lr_factor &&
          b.weight_decay == r.weight_decay)
        batch = &b;
    if (!batch)
      batch = &batches_.emplace_back(
          Batch{.rows = rows, .columns = columns, .lr_factor = r.lr_factor, .weight_decay = r.weight_decay});
    batch->values.push_back(matrix(store_.flat_values()));
    batch->gradients.push_back(matrix(store_.flat_gradients()));
    batch->momentum.push_back(matrix(first_));
  }

  void update(const Update& u) override {
    const at::NoGradGuard no_grad;
    const at::NoTF32Guard no_tf32;
    run_adam(updates_, pieces_, u);
    for (Batch& b : batches_) update(b, u);
  }

  void update(Batch& b, const Update& u) const {
    at::Tensor gradient = at::stack(b.gradients) * u.scale, lr = u.lr * b.lr_factor;
    const at::Tensor before = at::stack(b.momentum);
    at::Tensor momentum = before.lerp(gradient, 1 - config_.momentum);
    const at::Tensor ahead = config_.nesterov ? gradient.lerp(momentum, config_.momentum) : momentum;
    const double aspect = static_cast<double>(b.rows) / static_cast<double>(b.columns);
    at::Tensor step = orthogonal(ahead) * std::sqrt(std::max(1.0, aspect));
    if (u.found.defined()) {
      const at::Tensor skipped = u.found != 0;
      momentum = at::where(skipped, before, momentum), step = at::where(skipped, at::zeros_like(step), step);
      lr = at::where(skipped, at::zeros_like(lr), lr);
    }
    const at::Tensor keep = 1 - lr * b.weight_decay;
    for (std::size_t i = 0; i < b.values.size(); ++i) {
      b.momentum[i].copy_(momentum[static_cast<std::int64_t>(i)]);
      b.values[i].mul_(keep).addcmul_(step[static_cast<std::int64_t>(i)], lr, -1);
    }
  }

  at::Tensor first_;    // [T] float32: momentum of matrices, first moment of the others
  at::Tensor second_;   // [values of the others] float32
  at::Tensor updates_;  // [1] float32
  PieceTable<kernels::AdamTensor> pieces_;
  std::vector<Batch> batches_;
};

}  // namespace

std::unique_ptr<Optimizer> make_muon(const OptimizerConfig& config, const OptimizerInputs& in) {
  return std::make_unique<Muon>(config, in);
}

}  // namespace ttt::train
