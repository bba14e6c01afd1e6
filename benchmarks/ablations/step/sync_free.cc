#include <ATen/ops/nonzero.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "benchmarks/ablations/batch.h"
#include "benchmarks/ablations/replaced_ops.h"
#include "benchmarks/ablations/shapes.h"
#include "core/rng.h"
#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

// The classical sampler (torchvision's BalancedPositiveNegativeSampler): per image, the indices of the positives and of
// the negatives by nonzero, whose number the host must know, and a random subset of each. The keys are those of the
// fixed-shape sampler, so the choice is the same.
std::vector<std::int32_t> subset(const at::Tensor& candidates, std::int64_t most, const kernels::SampleParams& p,
    const at::Tensor& key, std::int64_t image_id) {
  const auto seed = static_cast<std::uint64_t>(key.const_data_ptr<std::int64_t>()[0]),
             step = static_cast<std::uint64_t>(key.const_data_ptr<std::int64_t>()[1]);
  const std::int64_t count = std::min(most, candidates.size(0));
  std::vector<std::pair<std::uint64_t, std::int32_t>> keys;
  const auto* candidate = candidates.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < candidates.size(0); ++i)
    keys.emplace_back(random_bits(seed, static_cast<Purpose>(p.purpose), step, static_cast<std::uint64_t>(image_id),
                          static_cast<std::uint64_t>(candidate[i])),
        static_cast<std::int32_t>(candidate[i]));
  std::nth_element(keys.begin(), keys.begin() + count, keys.end());
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(keys[i].second);
  std::sort(out.begin(), out.end());
  return out;
}

model::Sampled classical_sample(const kernels::SampleParams& p, const at::Tensor& device_key,
    const at::Tensor& all_matched, const at::Tensor& image_id) {
  // where the choice is made; from a device a copy that is waited for
  const at::Tensor key = device_key.to(at::kCPU), matched = all_matched.to(at::kCPU);
  const auto ints = matched.options().dtype(at::kInt);
  model::Sampled s{.index = at::zeros({p.images, p.size}, ints),
      .positives = at::zeros({p.images}, ints),
      .total = at::zeros({p.images}, ints)};
  const auto most = static_cast<std::int64_t>(static_cast<float>(p.size) * p.positive_fraction);
  for (std::int64_t n = 0; n < p.images; ++n) {
    const at::Tensor labels = matched.select(0, n);
    const std::int64_t id = image_id.select(0, n).item<std::int64_t>();
    const auto positives = subset((labels >= 0).nonzero().flatten(), most, p, key, id);
    const auto negatives =
        subset((labels == -1).nonzero().flatten(), p.size - static_cast<std::int64_t>(positives.size()), p, key, id);
    auto* row = s.index.select(0, n).mutable_data_ptr<std::int32_t>();
    std::copy(negatives.begin(), negatives.end(), std::copy(positives.begin(), positives.end(), row));
    s.positives.mutable_data_ptr<std::int32_t>()[n] = static_cast<std::int32_t>(positives.size());
    s.total.mutable_data_ptr<std::int32_t>()[n] = static_cast<std::int32_t>(positives.size() + negatives.size());
  }
  const at::Device device = all_matched.device();
  return {.index = s.index.to(device), .positives = s.positives.to(device), .total = s.total.to(device)};
}

void use_classical_sampler(Components& c) {
  with_ops("sync_free", "sampler by nonzero", [](model::DetectionOps& ops) { ops.sample = classical_sample; })(c);
}

void fixed(train::Recipe& r) { set_shapes(r, "static"); }
void over_positives(train::Recipe& r) { set_shapes(r, "dynamic"); }

}  // namespace

Ablation ablate_sync_free() {
  return {.name = "sync_free",
      .question =
          "What do fixed shapes, which never ask the device how many there are, cost or bring, by operation and in "
          "all?",
      .claim = "Operations without synchronisation save a further 5 % of a step.",
      .source = "AWS blog on SageMakerCV, CUDA Graphs and Debugger",
      .expectation =
          "On a CPU a question is free and fillers are work: the classical mask branch is faster. On a GPU each "
          "question stops the "
          "queue: the counter sync_points says how often.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // the same sums over other numbers of rows, then two updates
      .variants = {{.name = "fixed_shapes", .change = fixed}, {.name = "dynamic_mask_branch", .change = over_positives},
          {.name = "nonzero_sampler", .change = fixed, .components = use_classical_sampler},
          {.name = "all_classical", .change = over_positives, .components = use_classical_sampler}},
      .settings = {images_a_rank(1), images_a_rank(2), images_a_rank(4)}};
}

}  // namespace ttt::ablations
