// Trains Mask R-CNN to a target accuracy and reports how long that took and why: mpirun -n 32 ./ttt_maskrcnn
#include <cstdio>
#include <numeric>

#include "comm/world.h"
#include "app/app.h"
#include "app/progress.h"
#include "settings/settings_reader.h"
#include "embedded_recipes.h"
#include "run/guards.h"
#include "run/launch.h"
#include "run/assemble.h"
#include "run/resume.h"
#include "mlperf/run_events.h"
#include "run/submission.h"

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
  void note(const std::string& line) { progress_.note(line); }
  void evaluated(const train::Position&, const result::Evaluation& e) override {
    state_.bbox_ap = e.bbox[0], state_.segm_ap = e.segm[0];
    char line[160];
    std::snprintf(line, sizeof line, "epoch %lld (step %lld, %.1f s): box AP %.4f, mask AP %.4f, evaluated in %.2f s", static_cast<long long>(e.epoch),
                  static_cast<long long>(e.step), e.wall_s, e.bbox[0], e.segm[0], e.duration_s);
    progress_.note(line);
    progress_.update(state_);  // the last line of a run has its last accuracy
  }
  void run_ended(const train::Ending& ending) override {
    progress_.finish();
    progress_.note(result::verdict_title(ending.verdict) + ": " + ending.reason);
  }

 private:
  harness::Progress progress_;
  harness::ProgressState state_;
};

// `earlier`: what rank 0 found to go on from.
harness::Outcome train_run(const train::Recipe& recipe, harness::RunContext& context, const comm::World& world, train::Earlier earlier) {
  const Start start = start_of(earlier, context);
  const train::Recipe drawn = with_drawn_seed(recipe, start, context);
  Run run = assemble(drawn, components_of(drawn), world.team(), context, start.step);
  context.recorder.update([&](result::RunRecord& r) {
    r.target = result::Target{recipe.train.target_box_ap, recipe.train.target_mask_ap};
    r.built = describe(run);
    r.data = describe_data(run);
  });
  const std::unique_ptr<train::Checkpoints> checkpoints = make_checkpoints(run, std::move(earlier), context);
  Terminal terminal(world.rank() == 0 && !context.options.quiet);
  Guards guards(run, world, context, [&](const std::string& line) { terminal.note(line); });
  train::RunEvents events(context.launch.start_s, context.recorder, open_mlperf_log(run, start, context));
  const std::unique_ptr<train::Listener> telemetry = make_telemetry(run, context.run_id, &context.recorder);
  const std::unique_ptr<train::Listener> gpus = make_gpu_use(run, context.recorder), profile = make_device_profile(run, context.recorder);
  train::Observer observer{
      .recorder = context.recorder, .clock = context.clock, .interrupted = [&] { return context.signals.name(); }, .listeners = guards.listeners(),
      .checkpoints = checkpoints.get()};
  observer.listeners.insert(observer.listeners.end(), {&events, &terminal});
  for (const auto* more : {&telemetry, &gpus, &profile})
    if (*more) observer.listeners.push_back(more->get());
  train::Trainer trainer(run.recipe.train, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  const train::Ending ending = guards.finished(trainer.run());
  context.recorder.reduce(
      world.size(), [&](double* data, std::size_t n) { run.control->all_reduce_max(data, n); },
      [&](double* data, std::size_t n) { run.control->all_reduce_sum(data, n); });
  store_trace(run, context);
  return {.verdict = ending.verdict, .reason = ending.reason, .to_be_resumed = ending.to_be_resumed};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = "ttt_maskrcnn",
                                  .summary = "Trains Mask R-CNN to a target accuracy and reports how long that took and why. With --set train.checkpoint.folder=DIR "
                                             "the same command again goes on where a killed or interrupted run was; --print-recipe explains train.checkpoint.",
                                  .recipes = embedded_recipes(),
                                  .inject_help = train::fault_help(),
                                  .libraries = library_versions(world)};
  app.validate = [](const train::Recipe& recipe) { train::check(recipe); };
  train::Earlier earlier;
  find_earlier_run(app, earlier);
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) { return train_run(recipe, context, world, std::move(earlier)); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
