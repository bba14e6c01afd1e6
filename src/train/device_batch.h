// What goes to the device and comes back in each step, without the host waiting for the device's work.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <deque>
#include <functional>
#include <memory_resource>
#include <optional>

#include "comm/heartbeat.h"
#include "data/host_batch.h"
#include "models/batch.h"
#include "models/image_placer.h"
#include "models/mask_rcnn/losses.h"
#include "train/optimizers/optimizer.h"

namespace ttt::train {

// What of a step is not in its batch.
struct StepNumbers {
  std::int64_t seed = 0, step = 0;  // of the random draws
  double lr = 0, gradient_scale = 1;
};

using DetachedLosses = std::array<at::Tensor, model::kLosses>;  // without history

// All that differs from step to step.
struct StepInputs {
  model::DeviceBatch batch;
  Rates rates;
};
// Calls visit(tensor, grows) for each tensor; grows: its size follows the batch's objects, where the others' follow from the images' size.
void for_each_tensor(StepInputs& inputs, const std::function<void(at::Tensor& tensor, bool grows)>& visit);

// Host batches on their way to the device, one at a time, by a stream of their own: the copies run beside the step before.
class Uploader {
 public:
  // `memory`: of the host, from which the device copies without waiting; outlives the uploader. `placer`: of images that come as bytes.
  // `own_stream`: false: by the stream of the step.
  Uploader(const at::Device& device, std::pmr::memory_resource* memory, model::ImagePlacer placer, bool own_stream);

  // Starts the copies, which wait() awaits; a destructor does not: memory that a device copies from is never unmapped. The host batch must stay as it is until wait() has returned; on a CPU, where the tensors share its memory, until the step has ended.
  void start(const data::HostBatch& host, const StepNumbers& numbers);
  // What was started; later work of the current stream follows the copies.
  StepInputs take();
  // The host waits for the copies: where they were started a step ago, they are done.
  void wait();

 private:
  struct Packed {
    std::int64_t draw[2];
    float rates[2];
  };
  at::Device device_;
  model::ImagePlacer placer_;
  std::optional<c10::Stream> stream_;  // none on a CPU, as the next
  std::optional<c10::Event> copied_;
  std::pmr::vector<Packed> packed_;  // of this step and of the next in turn: on a CPU an update reads them when the next batch is there already
  std::int64_t started_ = 0;
  std::optional<StepInputs> inputs_;
};

// The losses of steps on their way to the host.
class LossQueue {
 public:
  // `memory`: of the host, from which a device copies without waiting; outlives the queue. `place`: where a wait is shown (kDeviceStage), null: nowhere.
  LossQueue(const at::Device& device, std::pmr::memory_resource* memory, comm::Place* place = nullptr) : device_(device), memory_(memory), place_(place) {}

  // On a device the losses of a step are there when the next one runs; on a CPU at once.
  bool late() const { return !device_.is_cpu(); }
  void push(const std::array<at::Tensor, model::kLosses>& losses);
  // Those of the oldest step; waits until they have arrived.
  std::array<double, model::kLosses> pop();

 private:
  struct Flight {
    std::pmr::vector<float> values;
    at::Tensor device;                  // the source of the copy
    std::optional<c10::Event> arrived;  // none on a CPU
  };
  at::Device device_;
  std::pmr::memory_resource* memory_;
  comm::Place* place_;
  std::deque<Flight> flights_;
};

}  // namespace ttt::train
