// Comparison of the CUDA kernels with their reference implementations. backend.h, of which there are two, says where
// the kernels run: tests/support/emulator executes them thread by thread on any machine, tests/kernels/gpu on a GPU.
//
// A backend has, in ttt::kernels: DeviceBuffer<T>, whose get() is for kernels and whose values the host reads by [] and
// values(); Kind, and input(), output(), in_out() and scratch(), which make one; from_device() and to_device(), which
// copy; and under_all_schedules(test), which runs test() under every order of threads that it has.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "backend.h"
#include "kernels/common/float16.h"
#include "kernels/common/simd.h"

namespace ttt::kernels {

// Tests that compare bits with a reference implementation that fuses multiply and add where the CPU can.
class FusedTest : public testing::Test {
 protected:
  void SetUp() override {
    if (host::best_isa() == host::Isa::kBase)
      GTEST_SKIP() << "this CPU has no fused multiply-add: nothing to compare bits with";
  }
};

// Bit by bit, so that -0 is not 0; but any NaN equals any NaN: the processor chooses which one an operation gives.
template <class T>
void expect_same_bits(const std::vector<T>& want, const DeviceBuffer<T>& buffer, const std::string& what) {
  const std::vector<T> got = buffer.values();
  ASSERT_EQ(want.size(), got.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T a = want[i], b = got[i];
    bool same = std::memcmp(&a, &b, sizeof(T)) == 0;
    if constexpr (std::is_integral_v<T>) {
      ASSERT_TRUE(same) << what << "[" << i << "]: reference " << +a << ", kernel " << +b;
    } else {
      same = same || (std::isnan(widen(a)) && std::isnan(widen(b)));
      ASSERT_TRUE(same) << what << "[" << i << "]: reference " << widen(a) << ", kernel " << widen(b);
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
