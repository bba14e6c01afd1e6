// Arrays in the emulated device's memory, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "shadow.h"

namespace emulation {

template <class T> class DeviceBuffer {
 public:
  using Kind = DeviceBytes::Kind;
  DeviceBuffer(std::int64_t n, Kind kind, const std::string& name)
      : bytes_(static_cast<std::size_t>(n) * sizeof(T), kind, sizeof(T) < 4 ? sizeof(T) : 4, name) {}
  DeviceBuffer(const std::vector<T>& values, Kind kind, const std::string& name)
      : DeviceBuffer(std::ssize(values), kind, name) {
    if (!values.empty()) std::memcpy(bytes_.data(), values.data(), bytes_.size());
    if (kind == Kind::kInput) bytes_.seal();
  }
  ~DeviceBuffer() { EXPECT_TRUE(bytes_.guards_intact()) << "written beside a buffer"; }

  T* get() { return reinterpret_cast<T*>(bytes_.data()); }
  const T* get() const { return reinterpret_cast<const T*>(bytes_.data()); }
  T operator[](std::int64_t i) const { return get()[i]; }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size() / sizeof(T)); }
  std::vector<T> values() const { return {get(), get() + size()}; }

 private:
  DeviceBytes bytes_;
};

template <class T> DeviceBuffer<T> input(const std::vector<T>& values, const std::string& name) {
  return {values, DeviceBytes::Kind::kInput, name};
}
template <class T> DeviceBuffer<T> output(std::int64_t n, const std::string& name) {
  return {n, DeviceBytes::Kind::kOutput, name};
}
template <class T> DeviceBuffer<T> in_out(const std::vector<T>& values, const std::string& name) {
  return {values, DeviceBytes::Kind::kInOut, name};
}
inline DeviceBuffer<float> scratch(std::size_t bytes) {  // 4-byte granules
  return {static_cast<std::int64_t>((bytes + 3) / 4), DeviceBytes::Kind::kScratch, "the workspace"};
}

}  // namespace emulation
