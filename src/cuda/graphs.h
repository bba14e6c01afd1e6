// Work of a device that is recorded once and replayed: CUDA Graphs, behind a seam that tests can stand in for. Needs
// neither CUDA nor torch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/error.h"

namespace ttt::cuda {

// Some work cannot be recorded; what() says why. Nothing of it was done, and the device is as it was.
struct NotCapturable : Error {
  using Error::Error;
};

struct GraphSize {
  std::int64_t nodes = 0;
  std::int64_t bytes = 0;  // of the device's memory that the recording took
};

class Graph {
 public:
  virtual ~Graph() = default;
  // Puts the recorded work on the current stream: the same kernels on the same memory, whatever that holds now. Throws
  // Error.
  virtual void replay() = 0;
  virtual GraphSize size() const = 0;
};

class GraphDevice {
 public:
  virtual ~GraphDevice() = default;
  // Runs `work`, of which the device's part (on the current stream, and on those that fork from it and join it) is
  // recorded and not done. The graph keeps the memory that `work` allocates. Memory that `work` gave back is workspace
  // of later graphs too: what it leaves there is lost where graphs are replayed in another order than captured. Throws
  // NotCapturable, also where `work` throws.
  virtual std::unique_ptr<Graph> capture(const std::function<void()>& work) = 0;
};

}  // namespace ttt::cuda
