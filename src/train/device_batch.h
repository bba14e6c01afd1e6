// Transfers to and from the device in each step. None makes the host wait for the device's work.
#pragma once

#include <c10/core/Event.h>

#include <deque>
#include <functional>
#include <memory_resource>
#include <optional>

#include "comm/heartbeat.h"
#include "data/host_batch.h"
#include "models/batch.h"
#include "models/copy_stream.h"
#include "models/preprocessor.h"
#include "train/optimizers/optimizer.h"

namespace ttt::train {

// What of a step is not in its batch.
struct StepNumbers {
  std::int64_t seed = 0, step = 0;  // of the random draws
  double lr = 0, gradient_scale = 1;
};

// All that differs from step to step.
struct StepInputs {
  model::DeviceBatch batch;
  Rates rates;

  template <class Visit> void for_each_tensor(const Visit& visit) {  // as the batch does
    batch.for_each_tensor(visit);
    visit(rates.tensor, false);
  }
};

// Host batches on their way to the device, one at a time, by a stream of their own: the copies run beside the step
// before.
class Uploader {
 public:
  // `memory`: of the host, from which the device copies without waiting; outlives the uploader. `preprocessor`: of
  // images that come as bytes. `own_stream`: false: by the stream of the step.
  Uploader(
      const at::Device& device, std::pmr::memory_resource* memory, model::Preprocessor preprocessor, bool own_stream);

  // Starts the copies, which wait() awaits. The host batch must stay as it is until wait() has returned; on a CPU,
  // where the tensors share its memory, until the step has ended.
  void start(const data::HostBatch& host, const StepNumbers& numbers);
  // What was started; later work of the current stream follows the copies.
  StepInputs take();
  // The host waits for the copies: where they were started a step ago, they are done.
  void wait() { stream_.wait(); }

 private:
  struct Packed {
    std::int64_t draw[2];
    float rates[2];
  };
  model::Preprocessor preprocess_;
  model::CopyStream stream_;
  // of this step and of the next in turn: on a CPU an update reads them when the next batch is there already
  std::pmr::vector<Packed> packed_;
  std::int64_t started_ = 0;
  std::optional<StepInputs> inputs_;
};

// The losses of steps on their way to the host.
class LossQueue {
 public:
  // `memory`: of the host, from which a device copies without waiting; outlives the queue. `place`: where a wait is
  // shown (kDeviceStage), null: nowhere.
  LossQueue(const at::Device& device, std::pmr::memory_resource* memory, comm::RankState* place = nullptr)
      : device_(device), memory_(memory), place_(place) {}

  // On a device the losses of a step are there when the next one runs; on a CPU at once.
  bool late() const { return !device_.is_cpu(); }
  void push(const std::vector<at::Tensor>& losses);  // scalars, as many in every step
  // Those of the oldest step; waits until they have arrived.
  std::vector<double> pop();

 private:
  struct Flight {
    std::pmr::vector<float> values;
    at::Tensor device;                  // the source of the copy
    std::optional<c10::Event> arrived;  // none on a CPU
  };
  at::Device device_;
  std::pmr::memory_resource* memory_;
  comm::RankState* place_;
  std::deque<Flight> flights_;
};

}  // namespace ttt::train
