// Trains Mask R-CNN to a target accuracy and reports how long that took and why: mpirun -n 32 ./ttt_maskrcnn
#include <cstdio>
#include <numeric>

#include "comm/world.h"
#include "harness/app.h"
#include "harness/progress.h"
#include "harness/settings_reader.h"
#include "embedded_recipes.h"
#include "train/launch.h"
#include "train/parts.h"

namespace {

using namespace ttt;

// One line on the terminal that says where the run stands.
class Terminal final : public train::Listener {
 public:
  explicit Terminal(bool enabled) : progress_({.enabled = enabled}) {}

  void step_ended(const train::Position& at, const result::StepSample& sample) override {
    state_.step = at.step, state_.total_steps = at.total_steps, state_.images = at.images;
    state_.loss = std::accumulate(sample.loss.begin(), sample.loss.end(), 0.0);
    progress_.update(state_);
  }
  void evaluated(const train::Position&, const result::Evaluation& e) override {
    state_.bbox_ap = e.bbox[0], state_.segm_ap = e.segm[0];
    char line[160];
    std::snprintf(line, sizeof line, "epoch %lld (step %lld, %.1f s): box AP %.4f, mask AP %.4f, evaluated in %.2f s", static_cast<long long>(e.epoch),
                  static_cast<long long>(e.step), e.wall_s, e.bbox[0], e.segm[0], e.duration_s);
    progress_.note(line);
  }

 private:
  harness::Progress progress_;
  harness::ProgressState state_;
};

harness::Outcome train_run(const train::Recipe& recipe, harness::RunContext& context, const comm::World& world) {
  Run run = build_run(recipe, world.team(), context);
  context.recorder.update([&](result::RunRecord& r) {
    r.target = result::Target{recipe.train.target_box_ap, recipe.train.target_mask_ap};
    r.built = describe(run);
    r.data = {{"train_images", run.train_images->size()}, {"eval_images", run.eval_images->size()},
              {"train_sha256", run.train_images->source_sha256()}, {"eval_sha256", run.eval_images->source_sha256()}};
  });
  Terminal terminal(world.rank() == 0 && !context.options.quiet);
  const std::unique_ptr<train::Listener> telemetry = make_telemetry(run, context.run_id, &context.recorder);
  train::Observer observer{
      .recorder = context.recorder, .clock = context.clock, .interrupted = [&] { return context.signals.name(); }, .listeners = {&terminal}};
  if (telemetry) observer.listeners.push_back(telemetry.get());
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
