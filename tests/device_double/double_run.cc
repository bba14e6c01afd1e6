// ttt_maskrcnn on the double of a device (device_double.h), its kernels executed by tests/emulation. tests/device_double/double.py compares what comes out
// with a run on the CPU. In the result: built.waits, how often the training steps made the host wait, by operation; the first, which makes the anchors, does not count.
#include "comm/world.h"
#include "embedded_recipes.h"
#include "emulator.h"
#include "harness/app.h"
#include "kernels/cuda/detection.h"
#include "model/ops/device_kernels.h"
#include "tests/device_double/device_double.h"
#include "train/launch.h"
#include "train/parts.h"

namespace {

using namespace ttt;

train::Accelerator open_double(const std::string&, const comm::Team&, std::shared_ptr<ThreadPool>) {
  return {.device = test::device_double(),
          .name = "double",
          .ops = model::kernel_ops("emulated", model::DeviceKernels(test::device_double(), [] { return cudaStream_t{}; })),
          .sgd = [](const kernels::SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight) {
            kernels::cuda::sgd(p, n, grad, momentum, weight, nullptr);
          },
          .memory = test::locked_memory(),
          .communicator = {}};
}

// Counts what happens between the start of a step and its end: evaluations read, as they may.
class Reads final : public train::Listener {
 public:
  void step_starts(const train::Position&) override { test::reset_waits(); }
  void step_ended(const train::Position&, const result::StepSample&) override {
    for (const auto& [what, n] : test::waits()) all[what] += steps_ > 0 ? n : 0;
    ++steps_;
  }
  std::map<std::string, std::int64_t> all;

 private:
  std::int64_t steps_ = 0;
};

harness::Outcome run_on_double(const train::Recipe& recipe, harness::RunContext& context, const comm::World& world) {
  Run run = build_run(recipe, world.team(), context, 0, open_double);
  const auto checkpoints = make_checkpoints(run, {}, context);
  Reads reads;
  const train::Observer observer{.recorder = context.recorder, .clock = context.clock, .interrupted = [&] { return context.signals.name(); },
                                 .listeners = {&reads}, .checkpoints = checkpoints.get()};
  const result::Json built = describe(run);
  train::Trainer trainer(run.recipe, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  const train::Ending ending = trainer.run();
  context.recorder.reduce(
      world.size(), [&](double* data, std::size_t n) { run.control->all_reduce_max(data, n); },
      [&](double* data, std::size_t n) { run.control->all_reduce_sum(data, n); });
  context.recorder.update([&](result::RunRecord& r) {
    r.built = built;
    r.built["waits"] = reads.all;
  });
  return {.verdict = ending.verdict, .reason = ending.reason};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = "double_run", .summary = "Trains on the double of a device.", .recipes = embedded_recipes()};
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) { return run_on_double(recipe, context, world); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
