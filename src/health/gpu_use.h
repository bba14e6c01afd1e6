// Power, energy, clocks, throttling and memory of the ranks' GPUs over a run, read from NVML. A thread of its own
// reads them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/communicator.h"
#include "cuda/nvml.h"
#include "result/run_recorder.h"
#include "train/listener.h"

namespace ttt::train {

class GpuUse final : public Listener {
 public:
  // Of the GPU `name`, on the node that the result calls `node`. `comm` and `recorder` outlive it.
  struct Names {
    std::string gpu, node;
  };
  GpuUse(std::unique_ptr<cuda::GpuMeter> meter, double every_s, Names names, comm::Communicator& comm,
      result::RunRecorder& recorder);
  ~GpuUse() override;

  void run_started(const Position& at) override;
  void step_ended(const Position& at, const result::StepSample&) override { images_ = at.images; }
  void run_ended(const Ending&) override;  // collective: health.gpus, and a warning where a GPU was slowed down

 private:
  void watch();
  void stop();
  result::GpuRecord own() const;  // of this rank's

  std::unique_ptr<cuda::GpuMeter> meter_;
  double every_s_;
  Names names_;
  comm::Communicator& comm_;
  result::RunRecorder& recorder_;
  std::int64_t first_images_ = 0, images_ = 0;
  double energy_begin_j_ = -1, energy_end_j_ = -1;

  std::thread thread_;
  mutable std::mutex mutex_;  // of the members below
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<cuda::GpuMoment> looks_;
};

}  // namespace ttt::train
