// Copies to a device by a stream of their own, beside the work of the current one.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <optional>

namespace ttt::model {

// On a CPU there is no stream: tensors share the host's memory, and nothing waits.
class CopyStream {
 public:
  // `own`: false: the current stream copies.
  explicit CopyStream(const at::Device& device, bool own = true);

  bool copies() const { return stream_.has_value(); }
  // Runs work(copy), where copy(tensor) moves a tensor to the device without the host waiting, if its memory is pinned.
  // The memory must stay as it is until wait() has returned. A destructor does not wait: memory that a device copies
  // from is never unmapped.
  template <class Work> void start(const Work& work) {
    const auto copy = [this](at::Tensor& t) { t = t.to(device_, t.scalar_type(), /*non_blocking=*/true); };
    if (!stream_) return work(copy);
    const c10::StreamGuard guard(*stream_);
    work(copy);
    copied_->record(*stream_);
  }
  // Later work of the current stream follows the copies.
  void join();
  // Memory of the one stream, used by the current one from now on.
  void hand_over(const at::Tensor& t) const;
  // The host waits for the copies.
  void wait();

 private:
  at::Device device_;
  std::optional<c10::Stream> stream_;
  std::optional<c10::Event> copied_;
};

// Torch's, of a device.
c10::Stream current_stream(const at::Device& device);

}  // namespace ttt::model
