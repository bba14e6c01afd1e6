// ttt_maskrcnn on the fake device (fake_device.h), its kernels executed by tests/emulation.
// tests/train/device_run.py compares what comes out with a run on the CPU. In the result: built.waits, how often the
// training steps made the host wait, by operation; the first, which makes the anchors, does not count.
// built.evaluation_waits: the same of evaluations, up to the last batch's predictions. built.early_returns: as
// fake_device.h has them.
#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "run/train_program.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/fake_device/fake_device.h"
#include "tests/support/fake_device/small_step.h"

namespace {

using namespace ttt;

train::Accelerator open_fake(const std::string&, const comm::Team&, std::shared_ptr<ThreadPool>) {
  return {.device = test::fake_device(),
      .name = "double",
      .ops = test::ops_on(test::fake_device()),
      .parameters = test::parameter_kernels_on(test::fake_device()),
      .graphs = &test::fake_graphs(),
      .forbid_waits = test::forbid_waits,
      .memory = test::locked_memory(),
      .communicator = {}};
}

// Counts what happens from the start of a step until the next thing begins: evaluations wait, as they may.
class Waits final : public train::Listener {
 public:
  void step_starts(const train::Position&) override { close(), open_ = true; }
  void evaluation_started(const train::Position&) override { close(); }
  void evaluation_predicted(const train::Position&, bool) override {
    for (const auto& [what, n] : test::waits()) of_evaluations[what] += n;
    test::reset_waits();
  }
  void run_ended(const train::Ending&) override { close(); }
  std::map<std::string, std::int64_t> all, of_evaluations;

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

}  // namespace

int main(int argc, char** argv) {
  emulation::check_order(false);  // device_step_test checks it in the same kernels
  Waits waits;
  return train_program(argc, argv,
      {.name = "device_run",
          .summary = "Trains on the fake device.",
          .workload = eval::mask_rcnn(),
          .recipes = embedded_recipes(),
          .open = open_fake,
          .listeners = {&waits},
          .record = [&](result::RunRecord& r) {
            r.built["early_returns"] = test::early_returns();
            r.built["waits"] = waits.all, r.built["evaluation_waits"] = waits.of_evaluations;
          }});
}
