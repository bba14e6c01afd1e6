// Communicators of ranks that do not exist: for the NCCL communicator (fake_nccl.h), and where only a size counts.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "comm/nccl.h"

namespace ttt::test {

using comm::Communicator;
using comm::NcclOptions;
using comm::Work;

// The other ranks as far as the id goes: what rank 0 gives away, rank 1 is given.
class Host : public Communicator {
 public:
  Host(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "host"; }
  void all_reduce_sum(float*, std::size_t) override {}
  void all_reduce_sum(double*, std::size_t) override {}
  void all_reduce_max(double*, std::size_t) override {}
  std::unique_ptr<Work> all_reduce_sum_async(float*, std::size_t) override { return nullptr; }
  void broadcast(void* data, std::size_t bytes, int root) override {
    if (rank_ != root) std::memset(data, 0x5a, bytes);
    broadcast_bytes += bytes;
  }
  std::vector<std::string> gather(const std::string& bytes, int) override { return {bytes}; }
  void barrier() override { ++barriers; }
  std::size_t broadcast_bytes = 0;
  int barriers = 0;

 private:
  int rank_, size_;
};

// The same where collectives are a device's work.
class DeviceHost final : public Host {
 public:
  using Host::Host;
  bool on_device() const override { return true; }
};

inline constexpr std::uintptr_t kCurrent = 50;
inline void* current_stream(int) { return reinterpret_cast<void*>(kCurrent); }
inline NcclOptions options(double timeout_s = 60) {
  return {.device = 3, .timeout_s = timeout_s, .current_stream = current_stream};
}

}  // namespace ttt::test
