// ttt_maskrcnn that writes down which images each step was given: "step image image ..." into $TTT_TEST_ORDER.<rank>, taken from the batch that
// reaches the model. With $TTT_TEST_OWN_PARTS it trains with tests/train/own_parts.h. tests/checkpoint/checkpoint.py looks at what runs on different numbers of ranks were given.
#include <cstdlib>
#include <fstream>

#include "comm/world.h"
#include "embedded_recipes.h"
#include "app/app.h"
#include "run/launch.h"
#include "run/assemble.h"
#include "run/resume.h"
#include "tests/train/own_parts.h"

namespace {

using namespace ttt;

class Recording final : public train::Step {
 public:
  Recording(std::unique_ptr<train::Step> step, const std::string& path) : step_(std::move(step)), file_(path, std::ios::app) {}
  std::vector<train::Stage> stages(train::StepState& s) override {
    const model::DeviceBatch& batch = s.inputs.batch;
    file_ << batch.draw.const_data_ptr<std::int64_t>()[1];
    for (std::int64_t i = 0; i < batch.image_id.numel(); ++i) file_ << " " << batch.image_id.const_data_ptr<std::int64_t>()[i];
    file_ << std::endl;
    return step_->stages(s);
  }
  result::Json describe() const override { return step_->describe(); }

 private:
  std::unique_ptr<train::Step> step_;
  std::ofstream file_;
};

harness::Outcome run_recorded(const train::Recipe& recipe, harness::RunContext& context, const comm::World& world, train::Earlier earlier) {
  Components components = components_of(recipe);
  if (std::getenv("TTT_TEST_OWN_PARTS")) test::use_own_parts(components);
  Run run = assemble(recipe, components, world.team(), context, start_of(earlier, context).step);
  const auto checkpoints = make_checkpoints(run, std::move(earlier), context);
  run.parts.step = std::make_unique<Recording>(std::move(run.parts.step), std::string(std::getenv("TTT_TEST_ORDER")) + "." + std::to_string(world.rank()));
  context.recorder.update([&](result::RunRecord& r) { r.built = describe(run); });
  const train::Observer observer{.recorder = context.recorder, .clock = context.clock, .interrupted = [&] { return context.signals.name(); },
                                 .listeners = {}, .checkpoints = checkpoints.get()};
  train::Trainer trainer(run.recipe.train, std::move(run.parts), run.order->steps_per_epoch(), *run.gradients, *run.control, observer);
  const train::Ending ending = trainer.run();
  return {.verdict = ending.verdict, .reason = ending.reason, .to_be_resumed = ending.to_be_resumed};
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<train::Recipe> app{.name = "order_probe", .summary = "Writes down the order of images.", .recipes = embedded_recipes()};
  train::Earlier earlier;
  find_earlier_run(app, earlier);
  app.run = [&](const train::Recipe& recipe, harness::RunContext& context) { return run_recorded(recipe, context, world, std::move(earlier)); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
