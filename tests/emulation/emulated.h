// What the tests of emulated kernels share: buffers, schedules, comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "device_buffer.h"
#include "emulator.h"

namespace ttt::kernels {

using emulation::DeviceBuffer;
using emulation::in_out;
using emulation::input;
using emulation::output;
using emulation::scratch;

// Runs test() under every order of threads and blocks, and every poison of shared memory.
template <class Test>
void under_all_schedules(const Test& test) {
  int which = 0;
  for (const emulation::Schedule& schedule : emulation::schedules()) {
    SCOPED_TRACE("schedule " + std::to_string(which++));
    emulation::set_schedule(schedule);
    test();
    if (testing::Test::HasFatalFailure()) break;
  }
  emulation::set_schedule(emulation::schedules()[0]);
}

// Bit by bit, so that -0 is not 0; but a NaN is any NaN: which one comes out of an operation is the processor's choice.
template <class T>
void expect_same_bits(const std::vector<T>& want, const DeviceBuffer<T>& got, const std::string& what) {
  ASSERT_EQ(std::ssize(want), got.size()) << what;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const T a = want[i], b = got[i];
    bool same = std::memcmp(&a, &b, sizeof(T)) == 0;
    if constexpr (std::is_floating_point_v<T>) same = same || (std::isnan(a) && std::isnan(b));
    ASSERT_TRUE(same) << what << "[" << i << "]: host " << +a << ", kernel " << +b;
  }
}

}  // namespace ttt::kernels
