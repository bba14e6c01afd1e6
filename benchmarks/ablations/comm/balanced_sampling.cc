#include <algorithm>
#include <numeric>

#include "benchmarks/ablations/shapes.h"
#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

// The same global batches, dealt out to the ranks by cost. The dearest image first, each to the rank that has the least
// so far and room left (longest processing time first, Graham 1969). What differs between images of one size is the
// number of objects, which the mask branch follows.
class BalancedOrder final : public data::BatchOrder {
 public:
  BalancedOrder(const data::ShardSet& set, const data::DataSettings& data, data::OrderSettings settings)
      : set_(set), settings_(settings) {
    for (settings.rank = 0; settings.rank < settings.ranks; ++settings.rank)
      shares_.push_back(std::make_unique<data::TrainOrder>(set, data, settings));
  }
  std::int64_t batches() const override { return -1; }
  std::int64_t most_per_rank() const override { return shares_[0]->most_per_rank(); }
  data::BatchPlan at(std::int64_t step) const override {
    data::BatchPlan plan = shares_[static_cast<std::size_t>(settings_.rank)]->at(step);
    std::vector<data::Sample> all;
    for (const auto& share : shares_) {
      const auto samples = share->at(step).samples;
      all.insert(all.end(), samples.begin(), samples.end());
    }
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return cost(a) > cost(b); });
    std::vector<std::int64_t> load(shares_.size(), 0), room(shares_.size(), std::ssize(plan.samples));
    plan.samples.clear();
    for (const data::Sample& sample : all) {
      std::size_t to = shares_.size();
      for (std::size_t r = 0; r < shares_.size(); ++r)
        if (room[r] > 0 && (to == shares_.size() || load[r] < load[to])) to = r;
      load[to] += cost(sample), --room[to];
      if (static_cast<int>(to) == settings_.rank) plan.samples.push_back(sample);
    }
    return plan;
  }

 private:
  std::int64_t cost(const data::Sample& s) const { return set_.objects(s.image); }

  const data::ShardSet& set_;
  data::OrderSettings settings_;
  std::vector<std::unique_ptr<data::TrainOrder>> shares_;
};

void deal_by_cost(Components& c) {
  c.order.replace("balanced_sampling", [](Run& run) {
    run.deals = "by number of objects";
    return std::make_unique<BalancedOrder>(*run.train_images, run.recipe.data, run.order_settings());
  });
}

void over_positives(train::Recipe& r) { set_shapes(r, "dynamic"); }

}  // namespace

Ablation ablate_balanced_sampling() {
  return {.name = "balanced_sampling",
      .question =
          "What is it worth to deal a batch's images out to the ranks by their cost, where the step's work follows "
          "the image?",
      .claim = "Each GPU should get equal work; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Ranks that wait for each other wait for the slowest: a smaller straggler_index (slowest rank / mean) is "
          "a shorter step. With "
          "fixed shapes there is nothing to balance.",
      .promise = Promise::kOtherWork,  // a rank's losses are of other images; the global batch is the same
      .variants = {{.name = "in order", .change = over_positives},
          {.name = "by objects", .change = over_positives, .components = deal_by_cost}},
      .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
