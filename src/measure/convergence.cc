#include "measure/convergence.h"

namespace ttt::ablations {
namespace {

result::Training train_once(
    const train::Recipe& recipe, const Variant& variant, const comm::World& world, const harness::RunContext& context) {
  Components components = components_of(recipe);
  if (variant.components) variant.components(components);
  Run run = assemble(recipe, components, world.team(), context);
  if (variant.enter) variant.enter();
  result::RunRecorder recorder;
  result::RunClock clock;
  const train::Observer observer{
      .recorder = recorder, .clock = clock, .interrupted = [&] { return context.signals.name(); }, .listeners = {}};
  const double images = static_cast<double>(run.train_images->size());
  const result::Metrics target = run.parts.target;
  train::Trainer trainer(
      run.recipe.train, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  const auto train = [&] {
    try {
      return trainer.run();
    } catch (const Interrupted&) {  // whose remedy is a checkpoint, which a comparison has not
      throw Interrupted(kInterruptedSentence);
    }
  };
  const train::Ending ending = train();
  const result::Evaluation last = recorder.snapshot().accuracy.back();
  double seconds = last.wall_s;
  run.control->broadcast(&seconds, sizeof seconds, 0);
  return {.variant = variant.name,
      .seed = recipe.seed,
      .reached = ending.verdict == result::Verdict::kPassed,
      .epochs = static_cast<double>(last.images) / images,
      .seconds = seconds,
      .metrics = result::bounded(last.metrics, target)};
}

std::string training_text(const Ablation& a, const result::Training& t) {
  char text[240];
  std::snprintf(text, sizeof text, "%s: %s, seed %lld: %s after %.2f epochs, %.1f s (%s)", a.name.c_str(),
      t.variant.c_str(), static_cast<long long>(t.seed), t.reached ? "target reached" : "target NOT reached", t.epochs,
      t.seconds, result::metrics_text(t.metrics, 3).c_str());
  return text;
}

}  // namespace

void train_to_target(const Ablation& ablation, const train::Recipe& recipe, const comm::World& world,
    const harness::RunContext& context, const std::function<void(const std::string&)>& say,
    result::ConvergenceRow& row) {
  train::Recipe base = recipe;
  if (ablation.convergence.change) ablation.convergence.change(base);
  row = {.ablation = ablation.name,
      .question = ablation.question,
      .expectation = ablation.expectation,
      .baseline = ablation.variants[0].name,
      .target = base.workload->target(base.train.targets),
      .eval_every_epochs =
          base.train.eval_near_every_epochs > 0 ? base.train.eval_near_every_epochs : base.train.eval_every_epochs};
  for (std::int64_t i = 0; i < ablation.convergence.seeds; ++i)
    for (const Variant& variant : ablation.variants) {
      train::Recipe one = base;
      one.seed = recipe.seed + i;
      if (variant.change) variant.change(one);
      row.trainings.push_back(train_once(one, variant, world, context));
      say(training_text(ablation, row.trainings.back()));
    }
}

}  // namespace ttt::ablations
