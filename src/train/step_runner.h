// How a training step is executed: its parts one after the other, or recorded once by the device and replayed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cuda/graphs.h"
#include "train/device_batch.h"
#include "train/step.h"

namespace ttt::train {

struct Parts;

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // Forward and backward, gradients over ranks, update. Calls meanwhile() once where the host has time: gradients are on their way.
  virtual DetachedLosses run(StepInputs inputs, result::PhaseClock& clock, const std::function<void()>& meanwhile) = 0;
  // What was recorded, when and how large, and what could not be and why.
  virtual result::Json describe() const = 0;
};

// `graphs`: none, parts or full (TrainConfig); `parts` outlive the runner, and `comm`, which carries the gradients. Throws NotSupported where the device cannot record.
std::unique_ptr<StepRunner> make_step_runner(const std::string& graphs, Parts& parts, comm::Communicator& comm);

}  // namespace ttt::train
