// Trace of all ranks' threads over a window of steps, as stored in a result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace.h"
#include "result/record_fields.h"

namespace ttt::result {

// Columns of equal length, in the order in which the spans ended. What events mean, and their numbers: core/trace.h.
struct TraceLane {
  std::string name;
  std::int64_t dropped = 0;            // spans for which there was no room
  std::vector<std::int64_t> event;     // position in TraceRecord::events
  std::vector<double> start_s, end_s;  // rank 0's clock, since the run started; whole nanoseconds
  std::vector<std::int64_t> number, bytes;

  std::size_t size() const { return event.size(); }
  template <class Self, class Visitor> static void fields(Self& l, Visitor&& v) {
    v("name", l.name, "of the thread");
    v("dropped", l.dropped, "spans for which there was no room", at_least(0));
    v("event", l.event, "position in events", at_least(0));
    v("start_s", l.start_s, "rank 0's clock, since the run started");
    v("end_s", l.end_s, "");
    v("number", l.number, "of the step, the bucket, ...");
    v("bytes", l.bytes, "", at_least(0));
  }
  // Throws DataError where columns differ in length or a span ends before it starts.
  static void check(const TraceLane& lane, const std::string& path);
};

struct TraceRank {
  std::int64_t rank = 0;
  // Of this rank's clock against rank 0's; the times have it taken out. Two ranks' times compare no better than the sum
  // of their uncertainties.
  double clock_offset_s = 0, clock_uncertainty_s = 0;
  std::vector<TraceLane> lanes;

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v) {
    v("rank", r.rank, "", at_least(0));
    v("clock_offset_s", r.clock_offset_s, "of this rank's clock against rank 0's; the times have it taken out");
    v("clock_uncertainty_s", r.clock_uncertainty_s, "", at_least(0));
    v("lanes", r.lanes, "one for each thread");
  }
};

struct TraceRecord {
  std::int64_t from_step = 0, steps = 0;  // the window that was asked for; a run may have ended in it
  std::vector<std::string> events;
  std::vector<TraceRank> ranks;

  template <class Self, class Visitor> static void fields(Self& t, Visitor&& v) {
    v("from_step", t.from_step, "", at_least(0));
    v("steps", t.steps, "that were asked for", at_least(1));
    v("events", t.events, "names of what spans are of");
    v("ranks", t.ranks, "");
  }
  static void check(const TraceRecord& trace, const std::string& path);  // throws DataError for an unknown event
};

// One rank's spans on its own clock. Other threads may still be writing.
TraceRank rank_trace(const trace::Recorder& recorder, std::int64_t rank);
// Takes `offset_s` from every time, and rounds to nanoseconds: starts and ends alike, so what lay within another span
// still does.
void shift(TraceRank& rank, double offset_s);

}  // namespace ttt::result
