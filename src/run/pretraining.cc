#include "run/pretraining.h"

#include <cstdio>

#include "core/error.h"
#include "core/make_once.h"
#include "data/shapes.h"
#include "embedded_recipes.h"
#include "models/weights.h"
#include "settings/fields_json.h"
#include "settings/settings_reader.h"

namespace ttt {
namespace {

train::Recipe recipe_named(const std::string& name, const train::Recipe& like) {
  train::Recipe recipe(*like.workload);
  result::FieldTable table = result::field_table(recipe);
  harness::read_recipe_named(table, embedded_recipes(), name);
  result::assign(table, recipe);
  if (is_pretrained(recipe))
    throw UsageError("train.pretraining = '" + name + "': that recipe is pretrained itself. Name one that is not.");
  recipe.device = like.device;
  recipe.workload->match_backbone(recipe.model, like.model);
  return recipe;
}

void train_once(train::Recipe recipe, const std::string& file, const harness::RunContext& context) {
  recipe.train.save_weights = file;
  harness::Options options = context.options;
  options.data.reset();  // the images of the run are not those of its backbone
  const harness::RunContext own{options, context.launch, context.run_id, context.recorder, context.clock,
      context.signals, context.witness, context.give_up, context.out};
  const comm::Team alone = comm::alone();
  Run run = assemble(recipe, components_of(recipe), alone, own);
  result::RunRecorder recorder;
  result::RunClock clock;
  const train::Observer observer{
      .recorder = recorder, .clock = clock, .interrupted = [&] { return context.signals.name(); }};
  train::Trainer trainer(
      run.recipe.train, std::move(run.parts), run.order->epochs(), *run.gradients, *run.control, observer);
  trainer.run();
}

}  // namespace

bool is_pretrained(const train::Recipe& recipe) {
  const train::TrainSettings& t = recipe.train;
  return !t.pretraining.empty() && t.weights.empty() && t.weights_backbone.empty();
}

std::string pretrained_backbone(const train::Recipe& recipe, const harness::RunContext& context) {
  const train::Recipe own = recipe_named(recipe.train.pretraining, recipe);
  const std::string key = result::fields_sha256(result::field_table(own)).substr(0, 16);
  const std::string file = data::cache_folder() + "/backbone-v1-" + key + ".h5";
  make_once(file, [&](const std::filesystem::path& temporary) {
    if (!context.options.quiet)
      std::fprintf(stderr, "Training the backbone of recipe %s once, for %g epochs. It is kept in %s.\n",
          recipe.train.pretraining.c_str(), own.train.epochs, file.c_str());
    train_once(own, temporary.string(), context);
  });
  return file;
}

void load_backbone(const std::string& path, model::ParameterStore& store, comm::Communicator& control) {
  if (control.rank() == 0) model::load_weights(path, store, model::kBackbonePart);
  if (control.size() == 1) return;
  for (model::Parameter& p : store.all()) {
    if (!p.name.starts_with(model::kBackbonePart)) continue;
    const at::Tensor values = store.to_file(p);
    control.broadcast(values.data_ptr<float>(), static_cast<std::size_t>(values.numel()) * sizeof(float), 0);
    store.from_file(p, values, "rank 0");
  }
}

}  // namespace ttt
