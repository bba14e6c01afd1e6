// The device's own record of its kernels, copies and fills, with start and end. No CUDA headers here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::cuda {

// One kernel, copy or fill, on the device's clock.
struct Activity {
  std::string name;  // of a kernel as the compiler mangled it; "copy" and "fill" of the others
  bool kernel = true;
  std::uint64_t start_ns = 0, end_ns = 0;
};

struct ActivitySum {
  std::string name;  // demangled, without parameters
  std::int64_t calls = 0;
  double seconds = 0;
};
struct ActivityReport {
  double window_s = 0;  // from the start of the first to the end of the last
  double busy_s = 0;    // of it, in which at least one ran
  std::int64_t kernels = 0, others = 0, lost = 0;
  // by falling seconds; those of several streams may overlap, so their sum may be above busy_s
  std::vector<ActivitySum> sums;
};

struct Recorded {
  std::vector<Activity> activities;  // in any order
  std::int64_t lost = 0;             // that did not fit the buffers
};
ActivityReport summarise(Recorded recorded);

// Records what runs on the devices of the process.
class ActivityLog {
 public:
  virtual ~ActivityLog() = default;
  // Throws NotSupported where the device's tools do not let it (another profiler is at work).
  virtual void start() = 0;
  // What ran since. What was put on the device must have ended.
  virtual Recorded stop() = 0;
};

}  // namespace ttt::cuda
