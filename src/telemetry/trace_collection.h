// The ranks' traces on one clock.
#pragma once

#include <optional>

#include "comm/clock_offset.h"
#include "result/trace_record.h"

namespace ttt::train {

// Made before the steps and asked after them: it compares the ranks' clocks before and after the steps and
// interpolates the offset linearly. Clocks of two nodes drift by up to some ten microseconds per second.
class TraceCollection {
 public:
  // Collective where `recorder` (which outlives this) is not null, which it is on every rank or on none.
  // `now`: this rank's clock, by which its spans are.
  TraceCollection(trace::Recorder* recorder, comm::Communicator& comm, double (*now)() = now_s);

  // Collective. Rank 0 gets the spans of all ranks, since `zero_s` on its clock; the others, and a run without a
  // recorder, nothing.
  std::optional<result::TraceRecord> collect(double zero_s);

 private:
  struct Measured {
    double at_s = 0;
    std::vector<comm::ClockOffset> offsets;
  };
  Measured measure();

  trace::Recorder* recorder_;
  comm::Communicator& comm_;
  double (*const now_)();
  Measured first_;
};

}  // namespace ttt::train
