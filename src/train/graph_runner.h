// Steps as graphs of a device (CUDA Graphs): stages are captured after the first steps of each shape of inputs, then replayed.
// All that differs from step to step is in the device's memory (StepInputs), at addresses of the runner's own, so a replay is a
// real step.
#pragma once

#include "cuda/graphs.h"
#include "train/step_loop.h"

namespace ttt::train {

// `graphs`, as TrainConfig has it:
//   none   the eager runner
//   parts  a graph for each stage that can be captured, found by trying; describe() says why the others run as they are.
//          Gradients travel after backward.
//   full   one graph for the whole step. Throws NotSupported, with the reason, where a stage cannot be captured.
// `parts` and `comm`, which carries the gradients, outlive the runner. Throws NotSupported where the device cannot capture.
std::unique_ptr<StepRunner> make_step_runner(const std::string& graphs, Parts& parts, comm::Communicator& comm);

}  // namespace ttt::train
