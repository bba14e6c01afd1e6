#include "models/host_count.h"

#include <ATen/ops/from_blob.h>

#include "models/copy_stream.h"

namespace ttt::model {

void HostCount::copy(const at::Tensor& count) {
  at::from_blob(value_.data(), {1}, at::kInt).copy_(count.reshape({1}), /*non_blocking=*/true);
}

void HostCount::mark() {
  if (device_.is_cpu()) return;
  if (!arrived_) arrived_.emplace(device_.type());
  arrived_->record(current_stream(device_));
}

std::int64_t HostCount::wait() {
  if (arrived_) arrived_->synchronize();
  return value_[0];
}

}  // namespace ttt::model
