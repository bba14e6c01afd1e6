#include "train/step_runner.h"

#include "core/error.h"
#include "train/graphed_step.h"
#include "train/step_loop.h"

namespace ttt::train {
namespace {

class EagerRunner final : public StepRunner {
 public:
  explicit EagerRunner(Parts& parts) : parts_(parts) {}

  DetachedLosses run(StepInputs inputs, result::PhaseClock& clock, const std::function<void()>& meanwhile) override {
    parts_.reducer->begin();
    DetachedLosses losses = parts_.step->forward_backward(inputs.batch, clock);  // the reducer's hooks fire as gradients appear
    parts_.reducer->launch();
    meanwhile();
    clock.enter(result::Phase::kCommExposed);
    parts_.reducer->finish();
    clock.enter(result::Phase::kOptimizer);
    parts_.optimizer->step(inputs.rates);
    clock.enter(result::Phase::kOther);
    return losses;
  }
  result::Json describe() const override { return "none"; }

 private:
  Parts& parts_;
};

}  // namespace

std::unique_ptr<StepRunner> make_step_runner(const std::string& graphs, Parts& parts, comm::Communicator& comm) {
  if (graphs == "none") return std::make_unique<EagerRunner>(parts);
  if (!parts.graphs)
    throw NotSupported("train.graphs = \"" + graphs + "\" needs a device that can record its work, and this run's is " + parts.device.str() +
                       ". Choose device = \"cuda\" or train.graphs = \"none\".");
  if (graphs == "full") return make_whole_step_runner(parts, comm);
  return make_part_runner(parts, comm);
}

}  // namespace ttt::train
