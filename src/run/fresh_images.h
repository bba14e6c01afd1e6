// Accuracy on images that no choice was made on.
#pragma once

#include "run/assemble.h"

namespace ttt {

// Recipes are chosen by their accuracy on the held-out images of the generated data set, the same for all runs. What
// that choice owes to the luck of those images is seen on fresh ones: of the same distribution, and others for each
// seed (Recht et al. 2019, "Do ImageNet classifiers generalize to ImageNet?").
class FreshImages {
 public:
  // As many as data.generated_fresh, made once and kept in the cache folder. Collective, before the parts go to a
  // trainer; the run outlives it. Throws UsageError with --data, which names images that nobody can make more of.
  FreshImages(Run& run, const harness::RunContext& context);

  result::FreshEvaluation evaluate();  // of the model as it is; collective

 private:
  const std::uint64_t seed_;
  const data::ShardSet images_;
  const std::unique_ptr<eval::Evaluator> evaluator_;
};

}  // namespace ttt
