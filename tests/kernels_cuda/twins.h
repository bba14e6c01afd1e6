// What the comparisons of kernels/cuda with their host twins share. Where the kernels run is up to backend.h, of which there are two: tests/emulation
// executes them thread by thread on any machine, tests/gpu on a GPU.
//
// A backend has, in ttt::kernels: DeviceBuffer<T>, whose get() is for kernels and whose values the host reads by [] and values(); Kind, and
// input(), output(), in_out() and scratch(), which make one; and under_all_schedules(test), which runs test() in every way in which it can.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "backend.h"

namespace ttt::kernels {

// Bit by bit, so that -0 is not 0; but a NaN is any NaN: which one comes out of an operation is the processor's choice.
template <class T>
void expect_same_bits(const std::vector<T>& want, const DeviceBuffer<T>& buffer, const std::string& what) {
  const std::vector<T> got = buffer.values();
  ASSERT_EQ(want.size(), got.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T a = want[i], b = got[i];
    bool same = std::memcmp(&a, &b, sizeof(T)) == 0;
    if constexpr (std::is_floating_point_v<T>) same = same || (std::isnan(a) && std::isnan(b));
    ASSERT_TRUE(same) << what << "[" << i << "]: host " << +a << ", kernel " << +b;
  }
}

}  // namespace ttt::kernels
