// Backend of tests/kernels/cuda that runs kernels on the first GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"

namespace ttt::kernels {

inline void check(cudaError_t e, const std::string& what) {
  if (e != cudaSuccess) throw Error(what + ": " + cudaGetErrorString(e));
}

enum class Kind {
  kInput,   // must be unchanged at the end
  kOutput,  // holds NaNs and -1s before
  kInOut,
  kScratch,
};

// GPU memory between two guards that must be intact at the end. All work is on the default stream, for which copies
// wait.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::int64_t n, Kind /*kind*/, std::string name)
      : DeviceBuffer(std::move(name), static_cast<std::size_t>(n) * sizeof(T)) {}
  DeviceBuffer(const std::vector<T>& values, Kind kind, std::string name)
      : DeviceBuffer(std::move(name), values.size() * sizeof(T)) {
    if (bytes_ > 0) check(cudaMemcpy(get(), values.data(), bytes_, cudaMemcpyHostToDevice), "Filling " + name_);
    if (kind == Kind::kInput) before_ = all();
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    std::vector<unsigned char> now(allocated());
    if (const cudaError_t e = cudaMemcpy(now.data(), memory_, now.size(), cudaMemcpyDeviceToHost); e != cudaSuccess) {
      ADD_FAILURE() << "reading " << name_ << ": " << cudaGetErrorString(e);
    } else {
      for (std::size_t i = 0; i < now.size(); ++i)
        if ((i < kGuard || i >= kGuard + bytes_) && now[i] != kGuardByte) {
          ADD_FAILURE() << "written beside " << name_ << ", at byte "
                        << static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(kGuard);
          break;
        }
      EXPECT_TRUE(before_.empty() || now == before_) << name_ << " was written to, and is an input";
    }
    cudaFree(memory_);
  }

  T* get() { return reinterpret_cast<T*>(memory_ + kGuard); }
  const T* get() const { return reinterpret_cast<const T*>(memory_ + kGuard); }
  T operator[](std::int64_t i) const {
    T value;
    check(cudaMemcpy(&value, get() + i, sizeof(T), cudaMemcpyDeviceToHost), "Reading " + name_);
    return value;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_ / sizeof(T)); }
  std::vector<T> values() const {
    std::vector<T> values(bytes_ / sizeof(T));
    check(cudaMemcpy(values.data(), get(), bytes_, cudaMemcpyDeviceToHost), "Reading " + name_);
    return values;
  }

 private:
  static constexpr std::size_t kGuard = 256;  // and the alignment that the kernels are promised
  static constexpr int kGuardByte = 0xA5, kPoison = 0xFF;

  DeviceBuffer(std::string name, std::size_t bytes) : name_(std::move(name)), bytes_(bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, allocated()), "Memory for " + name_);
    memory_ = static_cast<unsigned char*>(memory);
    check(cudaMemset(memory_, kGuardByte, allocated()), "Filling the guards of " + name_);
    check(cudaMemset(memory_ + kGuard, kPoison, bytes_), "Filling " + name_);
  }
  std::size_t allocated() const { return bytes_ + 2 * kGuard; }
  std::vector<unsigned char> all() const {
    std::vector<unsigned char> bytes(allocated());
    check(cudaMemcpy(bytes.data(), memory_, bytes.size(), cudaMemcpyDeviceToHost), "Reading " + name_);
    return bytes;
  }

  std::string name_;
  std::size_t bytes_;
  unsigned char* memory_ = nullptr;
  std::vector<unsigned char> before_;  // of an input
};

template <class T>
DeviceBuffer<T> input(const std::vector<T>& values, const std::string& name) {
  return {values, Kind::kInput, name};
}
template <class T>
DeviceBuffer<T> output(std::int64_t n, const std::string& name) {
  return {n, Kind::kOutput, name};
}
template <class T>
DeviceBuffer<T> in_out(const std::vector<T>& values, const std::string& name) {
  return {values, Kind::kInOut, name};
}
inline DeviceBuffer<float> scratch(std::size_t bytes) {
  return {static_cast<std::int64_t>((bytes + 3) / 4), Kind::kScratch, "the workspace"};
}

template <class T>
std::vector<T> from_device(const T* values, std::size_t count) {
  std::vector<T> all(count);
  check(cudaMemcpy(all.data(), values, count * sizeof(T), cudaMemcpyDeviceToHost), "Reading from the device");
  return all;
}
template <class T>
void to_device(const std::vector<T>& values, T* to) {
  check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "Writing to the device");
}

// The hardware chooses the order of threads: two runs must agree.
template <class Test>
void under_all_schedules(const Test& test) {
  for (int time = 0; time < 2 && !testing::Test::HasFatalFailure(); ++time) {
    test();
    check(cudaDeviceSynchronize(), "A kernel");
  }
}

}  // namespace ttt::kernels
