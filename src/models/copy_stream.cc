#include "models/copy_stream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace ttt::model {

c10::Stream current_stream(const at::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

CopyStream::CopyStream(const at::Device& device, bool own) : device_(device) {
  if (device.is_cpu()) return;
  stream_ = own ? c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device) : current_stream(device);
  copied_.emplace(device.type());
}

void CopyStream::join() {
  if (stream_) copied_->block(current_stream(device_));
}

void CopyStream::hand_over(const at::Tensor& t) const {
  if (stream_ && t.defined()) t.record_stream(current_stream(device_));
}

void CopyStream::wait() {
  if (copied_) copied_->synchronize();
}

}  // namespace ttt::model
