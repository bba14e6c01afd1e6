#include "run/fresh_images.h"

#include <thread>

#include "core/error.h"
#include "data/shapes.h"

namespace ttt {
namespace {

// The generator's seeds from here on belong to fresh images; data sets to train on have those below.
constexpr std::uint64_t kFirstFreshSeed = 1'000'000;

std::string make_images(const data::DataSettings& data, std::uint64_t seed, const harness::RunContext& context) {
  if (context.options.data)
    throw UsageError(
        "data.generated_fresh asks for more images of the generator, and --data names other images. Leave "
        "one of them away.");
  return data::default_dataset(
      data::cache_folder(), {.train = 1,  // a split has one image at least
                                .val = data.generated_fresh,
                                .aspects = data.generated,
                                .seed = seed,
                                .threads = static_cast<int>(std::thread::hardware_concurrency())});
}

}  // namespace

FreshImages::FreshImages(Run& run, const harness::RunContext& context)
    : seed_(kFirstFreshSeed + static_cast<std::uint64_t>(run.recipe.seed)),
      images_(make_images(run.recipe.data, seed_, context), "val", data::ShardFile::Path::kPread),
      evaluator_(run.recipe.workload->make_evaluator(run.evaluation_inputs(images_))) {}

result::FreshEvaluation FreshImages::evaluate() {
  return {.images = evaluator_->images(),
      .generator_seed = static_cast<std::int64_t>(seed_),
      .metrics = evaluator_->evaluate()};
}

}  // namespace ttt
