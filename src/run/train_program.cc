#include "run/train_program.h"

#include <cstdio>
#include <numeric>

#include "app/progress.h"
#include "mlperf/run_events.h"
#include "run/doctor.h"
#include "run/fresh_images.h"
#include "run/guards.h"
#include "run/launch.h"
#include "run/resume.h"
#include "run/submission.h"
#include "settings/fields_json.h"

namespace ttt {
namespace {

// One line on the terminal that says where the run stands.
class Terminal final : public train::Listener {
 public:
  Terminal(bool enabled, result::Metrics target, Epochs epochs)
      : progress_({.enabled = enabled}), target_(std::move(target)), epochs_(std::move(epochs)) {}

  void step_ended(const train::Position& at, const result::StepSample& sample) override {
    state_.step = at.step, state_.total_steps = at.total_steps, state_.images = at.images;
    state_.loss = std::accumulate(sample.loss.begin(), sample.loss.end(), 0.0);
    progress_.update(state_);
  }
  void note(const std::string& line) { progress_.note(line); }
  void evaluated(const train::Position&, const result::Evaluation& e) override {
    const result::Metrics accuracy = result::bounded(e.metrics, target_);
    state_.accuracy = result::metrics_text(accuracy, 3);
    char line[160];
    std::snprintf(line, sizeof line, "epoch %.3g (step %lld, %.1f s): %s, evaluated in %.2f s", epochs_.after(e.step),
        static_cast<long long>(e.step), e.wall_s, result::metrics_text(accuracy, 4).c_str(), e.duration_s);
    progress_.note(line);
    progress_.update(state_);  // the last line of a run has its last accuracy
  }
  void run_ended(const train::Ending&) override { progress_.finish(); }

 private:
  harness::Progress progress_;
  const result::Metrics target_;
  const Epochs epochs_;
  harness::ProgressState state_;
};

// `earlier`: what rank 0 found to resume from.
harness::Outcome train_run(const TrainProgram& program, const train::Recipe& recipe, harness::RunContext& context,
    const comm::World& world, train::Earlier earlier) {
  const Start start = start_of(earlier, context);
  const train::Recipe drawn = with_drawn_seed(recipe, start, context);
  Components components = components_of(drawn);
  if (program.components) program.components(components);
  Run run = assemble(drawn, components, world.team(), context, start.step, program.open);
  context.recorder.update([&](result::RunRecord& r) {
    r.target = run.parts.target;
    r.recipe.settings = result::fields_json(run.recipe);
    r.built = describe(run);
    r.data = describe_data(run);
    r.data["name"] = run.data_name;
  });
  const std::unique_ptr<train::Checkpoints> checkpoints = make_checkpoints(run, std::move(earlier), context);
  context.announce(std::to_string(world.size()) + (world.size() > 1 ? " ranks" : " rank"));
  Terminal terminal(world.rank() == 0 && !context.options.quiet, run.parts.target, run.order->epochs());
  Guards guards(run, world, context, [&](const std::string& line) { terminal.note(line); });
  train::RunEvents events(context.launch.start_s, context.recorder, open_mlperf_log(run, start, context));
  const std::unique_ptr<train::Listener> telemetry = make_telemetry(run, context.run_id, &context.recorder);
  const std::unique_ptr<train::Listener> gpus = make_gpu_use(run, context.recorder),
                                         profile = make_device_profile(run, context.recorder);
  std::optional<FreshImages> fresh;
  if (run.recipe.data.generated_fresh > 0) fresh.emplace(run, context);
  train::Observer observer{.recorder = context.recorder,
      .clock = context.clock,
      .interrupted = [&] { return context.signals.name(); },
      .listeners = guards.listeners(),
      .checkpoints = checkpoints.get()};
  observer.listeners.insert(observer.listeners.end(), {&events, &terminal});
  observer.listeners.insert(observer.listeners.end(), program.listeners.begin(), program.listeners.end());
  for (const auto* more : {&telemetry, &gpus, &profile})
    if (*more) observer.listeners.push_back(more->get());
  train::Trainer trainer(
      run.recipe.train, std::move(run.parts), run.order->epochs(), *run.gradients, *run.control, observer);
  const train::Ending ending = guards.finished(trainer.run());
  if (fresh && !ending.to_be_resumed && ending.verdict != result::Verdict::kSmoke) {
    const result::FreshEvaluation evaluation = fresh->evaluate();
    context.recorder.update([&](result::RunRecord& r) { r.fresh = evaluation; });
  }
  context.recorder.reduce(
      world.size(), [&](double* data, std::size_t n) { run.control->all_reduce_max(data, n); },
      [&](double* data, std::size_t n) { run.control->all_reduce_sum(data, n); });
  store_trace(run, context);
  if (program.record) context.recorder.update(program.record);
  return {.verdict = ending.verdict, .reason = ending.reason, .to_be_resumed = ending.to_be_resumed};
}

// Of the run as it would be assembled.
harness::Examined examine(
    const TrainProgram& program, train::Recipe recipe, harness::RunContext& context, const comm::World& world) {
  recipe.train.pretraining.clear();  // the values of weights cost no time
  Components components = components_of(recipe);
  if (program.components) program.components(components);
  const Run run = assemble(recipe, components, world.team(), context, 0, program.open);
  const std::vector<result::Symptom> found = result::symptoms(doctor_facts(run, world));
  return {!found.empty(), result::symptoms_text(found)};
}

}  // namespace

int train_program(int argc, char** argv, const TrainProgram& program) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = program.name,
      .summary = program.summary +
                 " With --set train.checkpoint.folder=DIR the same command again resumes a killed or interrupted run; "
                 "--print-recipe explains train.checkpoint.",
      .defaults = train::Recipe(program.workload),
      .recipes = program.recipes,
      .inject_help = train::fault_help(),
      .libraries = library_versions(world)};
  app.validate = [](const train::Recipe& recipe) { train::check(recipe); };
  train::Earlier earlier;
  find_earlier_run(app, earlier);
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) {
    return train_run(program, recipe, context, world, std::move(earlier));
  };
  app.doctor = [&](const train::Recipe& recipe, harness::RunContext& context) {
    return examine(program, recipe, context, world);
  };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}

}  // namespace ttt
