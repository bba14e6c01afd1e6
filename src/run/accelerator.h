// The device on which a rank trains, and what of a run depends on which it is.
#pragma once

#include <functional>
#include <memory>
#include <memory_resource>
#include <string>

#include "comm/communicator.h"
#include "comm/nccl_tuning.h"
#include "comm/world.h"
#include "core/parallel.h"
#include "cuda/activity.h"
#include "cuda/graphs.h"
#include "models/ops/detection_ops.h"
#include "result/phase_clock.h"
#include "models/ops/parameter_kernels.h"

namespace ttt::train {

struct Accelerator {
  at::Device device = at::kCPU;
  std::string name = "cpu";  // what it calls itself
  std::string bus_id = {};   // by which its driver's tools find it; empty: there are none
  model::DetectionOps ops;
  model::ParameterKernels parameters;  // empty: the host's
  cuda::GraphDevice* graphs = nullptr;  // records its work, null: it cannot; lives as long as the process
  result::PhaseClock::Announce* announce_phase = nullptr;  // to the device's profilers; null: there are none
  std::function<void(bool)> forbid_waits;  // whether an operation that makes the host wait for the device throws; empty: nothing does wait
  cuda::ActivityLog* activity = nullptr;   // says what ran on it; null: nobody does; lives as long as the process
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  // of the host, from which it copies without the host waiting; lives as long as the process
  // Carries the device's memory between ranks; collective over `host`, which must outlive it. Empty: `host` does that itself.
  std::function<std::unique_ptr<comm::Communicator>(comm::Communicator& host, const comm::NcclTuning& tuning)> communicator;
};

// `device`: cpu, or cuda: the rank's own GPU, ranks of a node in turn. `pool`: threads of the host's kernels.
// Throws NotSupported, with what is missing: the driver, a GPU for each rank of the node, libttt_cuda.
Accelerator open_accelerator(const std::string& device, const comm::Team& team, std::shared_ptr<ThreadPool> pool);

}  // namespace ttt::train
