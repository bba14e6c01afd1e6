#include "telemetry/trace_collection.h"

#include <algorithm>
#include <limits>

namespace ttt::train {
namespace {

// When the rank's window was, by its own clock.
double middle_s(const result::TraceRank& rank) {
  double first = std::numeric_limits<double>::infinity(), last = -first;
  for (const result::TraceLane& l : rank.lanes)
    for (std::size_t i = 0; i < l.size(); ++i) first = std::min(first, l.start_s[i]), last = std::max(last, l.end_s[i]);
  return first <= last ? (first + last) / 2 : 0;
}

}  // namespace

TraceCollection::TraceCollection(trace::Recorder* recorder, comm::Communicator& comm, double (*now)())
    : recorder_(recorder), comm_(comm), now_(now) {
  if (recorder_) first_ = measure();
}

TraceCollection::Measured TraceCollection::measure() {
  Measured m;
  m.offsets = comm::clock_offsets(comm_, comm::kClockBarriers, now_);
  m.at_s = now_();
  return m;
}

std::optional<result::TraceRecord> TraceCollection::collect(double zero_s) {
  if (!recorder_) return std::nullopt;
  recorder_->close();
  const Measured last = measure();
  const std::vector<std::string> texts =
      comm_.gather(result::dump(result::json_of(result::rank_trace(*recorder_, comm_.rank())), -1), 0);
  if (comm_.rank() != 0) return std::nullopt;
  result::TraceRecord trace{.from_step = recorder_->from_step(), .steps = recorder_->steps()};
  trace.events.assign(trace::kEventNames.begin(), trace::kEventNames.end());
  for (std::size_t r = 0; r < texts.size(); ++r) {
    result::TraceRank& rank = trace.ranks.emplace_back(
        result::record_from_json<result::TraceRank>(result::parse(texts[r], "a rank's trace"), "trace"));
    const comm::ClockOffset &a = first_.offsets[r], &b = last.offsets[r];
    const double at_s = middle_s(rank) - b.offset_s;  // on rank 0's clock, near enough
    const double part = std::clamp((at_s - first_.at_s) / (last.at_s - first_.at_s), 0.0, 1.0);
    rank.clock_offset_s = a.offset_s + part * (b.offset_s - a.offset_s);
    rank.clock_uncertainty_s = std::max(a.uncertainty_s, b.uncertainty_s);
    result::shift(rank, rank.clock_offset_s + zero_s);
  }
  return trace;
}

}  // namespace ttt::train
