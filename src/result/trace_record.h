// Trace of all ranks' threads over a window of steps, as stored in a result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace.h"
#include "settings/json.h"

namespace ttt::result {

// Columns of equal length, in the order in which the spans ended. What events mean, and their numbers: core/trace.h.
struct TraceLane {
  std::string name;
  std::int64_t dropped = 0;            // spans for which there was no room
  std::vector<std::int64_t> event;     // position in TraceRecord::events
  std::vector<double> start_s, end_s;  // rank 0's clock, since the run started; whole nanoseconds
  std::vector<std::int64_t> number, bytes;

  std::size_t size() const { return event.size(); }
};

struct TraceRank {
  std::int64_t rank = 0;
  // Of this rank's clock against rank 0's; the times have it taken out. Two ranks' times compare no better than the sum
  // of their uncertainties.
  double clock_offset_s = 0, clock_uncertainty_s = 0;
  std::vector<TraceLane> lanes;
};

struct TraceRecord {
  std::int64_t from_step = 0, steps = 0;  // the window that was asked for; a run may have ended in it
  std::vector<std::string> events;
  std::vector<TraceRank> ranks;
};

// One rank's spans on its own clock. Other threads may still be writing.
TraceRank rank_trace(const trace::Recorder& recorder, std::int64_t rank);
// Takes `offset_s` from every time, and rounds to nanoseconds: starts and ends alike, so what lay within another span
// still does.
void shift(TraceRank& rank, double offset_s);

Json trace_json(const TraceRecord& trace);
// Throws DataError naming the member that is missing or wrong.
TraceRecord trace_from_json(const Json& object);
Json trace_rank_json(const TraceRank& rank);
TraceRank trace_rank_from_json(const Json& object, std::size_t events);

}  // namespace ttt::result
