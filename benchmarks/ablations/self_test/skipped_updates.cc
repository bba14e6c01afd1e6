#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

constexpr std::int64_t kEvery = 33;

// Does nothing in every 33rd update, as if that step had not been.
class Skipping final : public train::Optimizer {
 public:
  explicit Skipping(std::unique_ptr<train::Optimizer> inner) : inner_(std::move(inner)) {}
  void step(const train::Rates& rates) override {
    if (++updates_ % kEvery != 0) inner_->step(rates);
  }
  std::vector<train::NamedTensor> state() const override { return inner_->state(); }
  std::string not_capturable() const override { return "an update in " + std::to_string(kEvery) + " is skipped"; }
  result::Json describe() const override {
    result::Json d = inner_->describe();
    d["skips_every"] = kEvery;
    return d;
  }

 private:
  std::unique_ptr<train::Optimizer> inner_;
  std::int64_t updates_ = 0;
};

}  // namespace

Ablation ablate_skipped_updates() {
  return {.name = "skipped_updates",
      .question = "Is a loss of 3 % of the steps found in accuracies at fixed steps?",
      .claim = "none known",
      .expectation = "The variant needs 33 / 32 of the baseline's steps: the interval excludes zero and covers 3.1 %.",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "all updates"}, {.name = "every 33rd skipped",
                                                .components =
                                                    [](Components& c) {
                                                      c.optimizer.replace(
                                                          "skipped_updates", [recipe = c.optimizer](Run& run) {
                                                            return std::make_unique<Skipping>(recipe.make(run));
                                                          });
                                                    }}},
      .convergence = {.seeds = 16}};
}

}  // namespace ttt::ablations
