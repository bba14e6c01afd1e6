// Training steps as graphs of a device (CUDA Graphs): recorded at the first steps of each shape of inputs, then replayed. All that differs from
// step to step is in the device's memory (StepInputs), at addresses of the runner's own, so a replay is a real step.
#pragma once

#include "train/step_runner.h"

namespace ttt::train {

// One graph for the whole step. Throws NotSupported, with the reason, where anything of it cannot be recorded.
std::unique_ptr<StepRunner> make_whole_step_runner(Parts& parts, comm::Communicator& comm);

// A graph for each part that can be recorded, found by trying; the others run as they are, and describe() says why. Gradients travel after backward.
std::unique_ptr<StepRunner> make_part_runner(Parts& parts, comm::Communicator& comm);

}  // namespace ttt::train
