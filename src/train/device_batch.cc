#include "train/device_batch.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace ttt::train {
namespace {

// For the watchdog: this rank is not what the others wait for.
class DeviceWait {
 public:
  explicit DeviceWait(comm::Place* place) : place_(place), before_(place ? place->stage.exchange(comm::kDeviceStage) : 0) {}
  ~DeviceWait() {
    if (place_) place_->stage = before_;
  }
  DeviceWait(const DeviceWait&) = delete;
  DeviceWait& operator=(const DeviceWait&) = delete;

 private:
  comm::Place* place_;
  std::int32_t before_;
};

c10::Stream current_stream(const at::Device& device) { return c10::impl::VirtualGuardImpl(device.type()).getStream(device); }

}  // namespace

void for_each_tensor(StepInputs& inputs, const std::function<void(at::Tensor& tensor, bool grows)>& visit) {
  model::DeviceBatch& b = inputs.batch;
  for (at::Tensor* t : {&b.images, &b.image_size, &b.image_id, &b.gt_box, &b.gt_label, &b.gt_count, &b.masks.object_polygon, &b.masks.bitmap_box, &b.masks.bitmap_offset, &b.draw,
                        &inputs.rates.tensor})
    visit(*t, false);
  for (at::Tensor* t : {&b.masks.polygon_vertex, &b.masks.vertices, &b.masks.bitmap_bytes}) visit(*t, true);
}

Uploader::Uploader(const at::Device& device, std::pmr::memory_resource* memory, model::ImagePlacer placer, bool own_stream)
    : device_(device), placer_(std::move(placer)), packed_(2, memory) {
  if (device.is_cpu()) return;
  stream_ = own_stream ? c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device) : current_stream(device);
  copied_.emplace(device.type());
}

void Uploader::start(const data::HostBatch& host, const StepNumbers& n) {
  Packed& packed = packed_[static_cast<std::size_t>(started_++ % 2)];
  packed = {.draw = {n.seed, n.step}, .rates = {static_cast<float>(n.lr), static_cast<float>(n.gradient_scale)}};
  inputs_ = {.batch = model::view_of(host), .rates = {.lr = n.lr, .gradient_scale = n.gradient_scale, .tensor = at::from_blob(packed.rates, {2}, at::kFloat)}};
  inputs_->batch.draw = at::from_blob(packed.draw, {2}, at::kLong);
  if (!stream_) return placer_(inputs_->batch);
  const c10::StreamGuard guard(*stream_);
  const auto copy = [&](at::Tensor& t, bool = false) { t = t.to(device_, t.scalar_type(), /*non_blocking=*/true); };
  if (model::RawImages& raw = inputs_->batch.raw; raw.defined()) {
    for (at::Tensor* t : raw.tensors()) copy(*t);
    copy(inputs_->batch.image_size);
    placer_(inputs_->batch);
  }
  for_each_tensor(*inputs_, copy);
  copied_->record(*stream_);
}

StepInputs Uploader::take() {
  StepInputs inputs = std::move(*std::exchange(inputs_, std::nullopt));
  if (stream_) {
    const c10::Stream current = current_stream(device_);
    copied_->block(current);
    for_each_tensor(inputs, [&](at::Tensor& t, bool) { t.record_stream(current); });  // memory of the one stream, used by the other
  }
  return inputs;
}

void Uploader::wait() {
  if (copied_) copied_->synchronize();
}

void LossQueue::push(const std::array<at::Tensor, model::kLosses>& losses) {
  Flight& f = flights_.emplace_back(Flight{.values = std::pmr::vector<float>(model::kLosses, memory_), .device = {}, .arrived = {}});
  const at::Tensor host = at::from_blob(f.values.data(), {model::kLosses}, at::kFloat);
  f.device = at::stack(losses);
  host.copy_(f.device, /*non_blocking=*/true);
  if (device_.is_cpu()) return;
  f.arrived.emplace(device_.type());
  f.arrived->record(current_stream(device_));
}

std::array<double, model::kLosses> LossQueue::pop() {
  const Flight& f = flights_.front();
  if (f.arrived && !f.arrived->query()) {
    const DeviceWait shown(place_);
    f.arrived->synchronize();
  }
  std::array<double, model::kLosses> losses;
  std::copy(f.values.begin(), f.values.end(), losses.begin());
  flights_.pop_front();
  return losses;
}

}  // namespace ttt::train
