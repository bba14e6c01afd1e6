// What the comparisons of kernels/cuda with their host twins share. Where the kernels run is up to backend.h, of which there are two: tests/emulation
// executes them thread by thread on any machine, tests/gpu on a GPU.
//
// A backend has, in ttt::kernels: DeviceBuffer<T>, whose get() is for kernels and whose values the host reads by [] and values(); Kind, and
// input(), output(), in_out() and scratch(), which make one; from_device() and to_device(), which copy; and under_all_schedules(test), which runs
// test() in every way in which it can.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "backend.h"
#include "kernels/common/float16.h"

namespace ttt::kernels {

// Bit by bit, so that -0 is not 0; but a NaN is any NaN: which one comes out of an operation is the processor's choice.
template <class T>
void expect_same_bits(const std::vector<T>& want, const DeviceBuffer<T>& buffer, const std::string& what) {
  const std::vector<T> got = buffer.values();
  ASSERT_EQ(want.size(), got.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T a = want[i], b = got[i];
    bool same = std::memcmp(&a, &b, sizeof(T)) == 0;
    if constexpr (std::is_integral_v<T>) {
      ASSERT_TRUE(same) << what << "[" << i << "]: host " << +a << ", kernel " << +b;
    } else {
      same = same || (std::isnan(widen(a)) && std::isnan(widen(b)));
      ASSERT_TRUE(same) << what << "[" << i << "]: host " << widen(a) << ", kernel " << widen(b);
    }
  }
}

template <class T>
std::vector<T> narrow_all(const std::vector<float>& values) {
  std::vector<T> all;
  for (const float v : values) all.push_back(narrow<T>(v));
  return all;
}
template <class T>
std::vector<float> widen_all(const std::vector<T>& values) {
  std::vector<float> all;
  for (const T v : values) all.push_back(widen(v));
  return all;
}

}  // namespace ttt::kernels
