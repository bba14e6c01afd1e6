// Trains Mask R-CNN to a target accuracy and reports how long that took and why: mpirun -n 32 ./ttt_maskrcnn
#include "comm/world.h"
#include "harness/app.h"
#include "harness/progress.h"
#include "harness/settings_reader.h"
#include "embedded_recipes.h"
#include "train/launch.h"
#include "train/parts.h"

namespace {

using namespace ttt;

std::string ended_epoch(const result::Evaluation& e) {
  char line[160];
  std::snprintf(line, sizeof line, "epoch %lld (step %lld, %.1f s): box AP %.4f, mask AP %.4f, evaluated in %.2f s", static_cast<long long>(e.epoch),
                static_cast<long long>(e.step), e.wall_s, e.bbox[0], e.segm[0], e.duration_s);
  return line;
}

harness::Outcome train_run(const train::Recipe& recipe, harness::RunContext& context, const comm::World& world) {
  Run run = build_run(recipe, world.team(), context);
  context.recorder.update([&](result::RunRecord& r) {
    r.target = result::Target{recipe.train.target_box_ap, recipe.train.target_mask_ap};
    r.built = describe(run);
    r.data = {{"train_images", run.train_images->size()}, {"eval_images", run.eval_images->size()},
              {"train_sha256", run.train_images->source_sha256()}, {"eval_sha256", run.eval_images->source_sha256()}};
  });
  harness::Progress progress({.enabled = world.rank() == 0 && !context.options.quiet});
  harness::ProgressState state;
  const train::Observer observer{
      .recorder = context.recorder,
      .clock = context.clock,
      .interrupted = [&] { return context.signals.name(); },
      .progress =
          [&](std::int64_t step, std::int64_t total, double loss, std::int64_t images) {
            state.step = step, state.total_steps = total, state.loss = loss, state.images = images;
            progress.update(state);
          },
      .evaluated =
          [&](const result::Evaluation& e) {
            state.bbox_ap = e.bbox[0], state.segm_ap = e.segm[0];
            progress.note(ended_epoch(e));
          }};
  train::Trainer trainer(run.recipe, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  const train::Ending ending = trainer.run();
  context.recorder.reduce(
      world.size(), [&](double* data, std::size_t n) { run.control->all_reduce_max(data, n); },
      [&](double* data, std::size_t n) { run.control->all_reduce_sum(data, n); });
  store_trace(run, context);
  return {.verdict = ending.verdict, .reason = ending.reason};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = "ttt_maskrcnn",
                                  .summary = "Trains Mask R-CNN to a target accuracy and reports how long that took and why.",
                                  .recipes = embedded_recipes(),
                                  .libraries = library_versions(world)};
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) { return train_run(recipe, context, world); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
