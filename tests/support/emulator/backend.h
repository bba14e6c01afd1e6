// Backend of tests/kernels/cuda that executes kernels thread by thread on the CPU (emulator.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device_buffer.h"
#include "emulator.h"

namespace ttt::kernels {

using Kind = emulation::DeviceBytes::Kind;
using emulation::DeviceBuffer;
using emulation::in_out;
using emulation::input;
using emulation::output;
using emulation::scratch;

template <class T>
std::vector<T> from_device(const T* values, std::size_t count) {
  return {values, values + count};
}
template <class T>
void to_device(const std::vector<T>& values, T* to) {
  std::copy(values.begin(), values.end(), to);
}

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

}  // namespace ttt::kernels
