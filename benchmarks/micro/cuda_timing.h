// Memory of a GPU, and the time that it takes for a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "bench.h"
#include "core/error.h"

namespace ttt::micro {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw Error(std::string(what) + ": " + cudaGetErrorString(e));
}

// An array in the device's memory.
template <class T> class Device {
 public:
  explicit Device(std::size_t n) : bytes_(n * sizeof(T)) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes_ + 1), "Memory of the device");
    memory_.reset(static_cast<T*>(memory));
    check(cudaMemset(memory, 0, bytes_), "Clearing memory of the device");
  }
  template <class Container> static Device of(const Container& values) {
    Device d(values.size());
    check(cudaMemcpy(d, values.data(), d.bytes_, cudaMemcpyHostToDevice), "A copy to the device");
    return d;
  }
  operator T*() const { return memory_.get(); }
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  struct Free {
    void operator()(void* p) const { cudaFree(p); }
  };
  std::size_t bytes_;
  std::unique_ptr<T, Free> memory_;
};
inline Device<unsigned char> workspace(std::size_t bytes) { return Device<unsigned char>(bytes); }

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "An event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { check(cudaEventRecord(event_), "An event"); }
  double ms_since(const Event& begin) const {
    float ms = 0;
    check(cudaEventSynchronize(event_), "The work before an event");
    check(cudaEventElapsedTime(&ms, begin.event_, event_), "The time between two events");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// The device's time for one call of `run`: of many between two events, behind a few that warm up.
inline double seconds_of(const std::function<void()>& run) {
  constexpr int kWarmUp = 3, kCalls = 20;
  for (int i = 0; i < kWarmUp; ++i) run();
  Event begin, end;
  begin.record();
  for (int i = 0; i < kCalls; ++i) run();
  end.record();
  return end.ms_since(begin) * 1e-3 / kCalls;
}

// Work of one call: its items, their unit, and the bytes that it must move.
struct Load {
  double items;
  const char* unit;
  double bytes;
};

// prepare(): makes the inputs and returns one call of the kernel, which owns them.
inline void add_kernel(const std::string& name, const Load& load, std::function<std::function<void()>()> prepare) {
  benchmark::RegisterBenchmark((name + "/ours").c_str(),
      [load, prepare = std::move(prepare)](benchmark::State& state) {
        const std::function<void()> run = prepare();
        double total = 0;
        for (auto _ : state) {
          const double s = seconds_of(run);
          state.SetIterationTime(s);
          total += s;
        }
        const double calls = static_cast<double>(state.iterations());
        state.counters[load.unit] = load.items * calls / total;
        state.counters["bytes/s"] = load.bytes * calls / total;
      })
      ->Unit(benchmark::kMicrosecond)
      ->UseManualTime()
      ->Iterations(1);  // of many calls: repetitions are the library's
}

// `run` keeps what it captures alive, so what cannot be copied is held by a shared pointer.
template <class Held, class Run> std::function<void()> owning(Held held, Run run) {
  return [held = std::make_shared<Held>(std::move(held)), run] { run(*held); };
}

}  // namespace ttt::micro
