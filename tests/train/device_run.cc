// ttt_maskrcnn on the double of a device (fake_device.h), its kernels executed by tests/emulation. tests/train/device_run.py compares what comes out
// with a run on the CPU. In the result: built.waits, how often the training steps made the host wait, by operation; the first, which makes the anchors, does not count.
#include "comm/world.h"
#include "embedded_recipes.h"
#include "app/app.h"
#include "tests/support/fake_device/fake_device.h"
#include "tests/support/fake_device/small_step.h"
#include "run/launch.h"
#include "run/assemble.h"
#include "run/resume.h"

namespace {

using namespace ttt;

train::Accelerator open_double(const std::string&, const comm::Team&, std::shared_ptr<ThreadPool>) {
  return {.device = test::fake_device(),
          .name = "double",
          .ops = test::ops_on(test::fake_device()),
          .parameters = test::parameter_kernels_on(test::fake_device()),
          .graphs = &test::graph_double(),
          .forbid_waits = test::forbid_waits,
          .memory = test::locked_memory(),
          .communicator = {}};
}

// Counts what happens from the start of a step until the next thing begins: evaluations wait, as they may.
class Waits final : public train::Listener {
 public:
  void step_starts(const train::Position&) override { close(), open_ = true; }
  void evaluation_started(const train::Position&) override { close(); }
  void run_ended(const train::Ending&) override { close(); }
  std::map<std::string, std::int64_t> all;

 private:
  void close() {
    if (open_ && steps_++ > 0)
      for (const auto& [what, n] : test::waits()) all[what] += n;
    open_ = false;
    test::reset_waits();
  }
  bool open_ = false;
  std::int64_t steps_ = 0;
};

harness::Outcome run_on_double(const train::Recipe& recipe, harness::RunContext& context, const comm::World& world, train::Earlier earlier) {
  Run run = assemble(recipe, components_of(recipe), world.team(), context, start_of(earlier, context).step, open_double);
  const auto checkpoints = make_checkpoints(run, std::move(earlier), context);
  Waits waits;
  const auto telemetry = make_telemetry(run, context.run_id, &context.recorder);
  train::Observer observer{.recorder = context.recorder, .clock = context.clock, .interrupted = [&] { return context.signals.name(); },
                                 .listeners = {&waits}, .checkpoints = checkpoints.get()};
  if (telemetry) observer.listeners.push_back(telemetry.get());
  const result::Json built = describe(run);
  train::Trainer trainer(run.recipe.train, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  const train::Ending ending = trainer.run();
  context.recorder.reduce(
      world.size(), [&](double* data, std::size_t n) { run.control->all_reduce_max(data, n); },
      [&](double* data, std::size_t n) { run.control->all_reduce_sum(data, n); });
  context.recorder.update([&](result::RunRecord& r) {
    const result::Json graphs = r.built["graphs"];
    r.built = built;
    r.built["graphs"] = graphs;
    r.built["waits"] = waits.all;
  });
  return {.verdict = ending.verdict, .reason = ending.reason};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = "double_run", .summary = "Trains on the double of a device.", .recipes = embedded_recipes()};
  train::Earlier earlier;
  find_earlier_run(app, earlier);
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) { return run_on_double(recipe, context, world, std::move(earlier)); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
