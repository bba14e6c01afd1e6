// A number that a device has worked out, on its way to the host: the host goes on and asks for it later.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

namespace ttt::model {

class HostCount {
 public:
  // `memory`: of the host, to which the device copies without the host waiting; outlives this.
  HostCount(const at::Device& device, std::pmr::memory_resource* memory) : device_(device), value_(1, memory) {}

  // The device's part, which may be captured. count: int32, one element.
  void copy(const at::Tensor& count);
  // After the device's part was given to the current stream; never captured.
  void mark();
  // The host waits for the work before the last mark.
  std::int64_t wait();

 private:
  at::Device device_;
  std::pmr::vector<std::int32_t> value_;
  std::optional<c10::Event> arrived_;  // none on a CPU
};

}  // namespace ttt::model
