#include "train/device_batch.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include <utility>

namespace ttt::train {
namespace {

// For the watchdog: this rank is not what the others wait for.
class DeviceWait {
 public:
  explicit DeviceWait(comm::RankState* place)
      : place_(place), before_(place ? place->stage.exchange(comm::kDeviceStage) : 0) {}
  ~DeviceWait() {
    if (place_) place_->stage = before_;
  }
  DeviceWait(const DeviceWait&) = delete;
  DeviceWait& operator=(const DeviceWait&) = delete;

 private:
  comm::RankState* place_;
  std::int32_t before_;
};

}  // namespace

Uploader::Uploader(
    const at::Device& device, std::pmr::memory_resource* memory, model::Preprocessor preprocessor, bool own_stream)
    : preprocess_(std::move(preprocessor)), stream_(device, own_stream), packed_(2, memory) {}

void Uploader::start(const data::HostBatch& host, const StepNumbers& n) {
  Packed& packed = packed_[static_cast<std::size_t>(started_++ % 2)];
  packed = {.draw = {n.seed, n.step}, .rates = {static_cast<float>(n.lr), static_cast<float>(n.gradient_scale)}};
  inputs_ = {.batch = model::view_of(host),
      .rates = {
          .lr = n.lr, .gradient_scale = n.gradient_scale, .tensor = at::from_blob(packed.rates, {2}, at::kFloat)}};
  inputs_->batch.draw = at::from_blob(packed.draw, {2}, at::kLong);
  stream_.start([&](const auto& copy) {
    if (model::RawImages& raw = inputs_->batch.raw; raw.defined()) {
      for (at::Tensor* t : raw.tensors()) copy(*t);
      copy(inputs_->batch.image_size);
      preprocess_(inputs_->batch);
    }
    inputs_->for_each_tensor([&](at::Tensor& t, bool) { copy(t); });
  });
}

StepInputs Uploader::take() {
  StepInputs inputs = std::move(*std::exchange(inputs_, std::nullopt));
  stream_.join();
  inputs.for_each_tensor([&](at::Tensor& t, bool) { stream_.hand_over(t); });
  return inputs;
}

void LossQueue::push(const std::vector<at::Tensor>& losses) {
  Flight& f = flights_.emplace_back(
      Flight{.values = std::pmr::vector<float>(losses.size(), memory_), .device = {}, .arrived = {}});
  const at::Tensor host = at::from_blob(f.values.data(), {static_cast<std::int64_t>(losses.size())}, at::kFloat);
  f.device = at::stack(losses);
  host.copy_(f.device, /*non_blocking=*/true);
  if (device_.is_cpu()) return;
  f.arrived.emplace(device_.type());
  f.arrived->record(model::current_stream(device_));
}

std::vector<double> LossQueue::pop() {
  const Flight& f = flights_.front();
  if (f.arrived && !f.arrived->query()) {
    const DeviceWait shown(place_);
    f.arrived->synchronize();
  }
  std::vector<double> losses(f.values.begin(), f.values.end());
  flights_.pop_front();
  return losses;
}

}  // namespace ttt::train
