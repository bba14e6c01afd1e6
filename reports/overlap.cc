// How communication lies to the phases of the steps: intersections of intervals.
#include <algorithm>

#include "reports/timeline.h"

namespace ttt::reports {
namespace {

using result::TraceLane;
using result::TraceRank;
using result::TraceRecord;

struct Interval_s {
  double start, end;
};

std::int64_t event_of(const TraceRecord& trace, trace::Event event) {
  return std::find(trace.events.begin(), trace.events.end(), trace::name_of(event)) - trace.events.begin();
}

// All spans of an event, in the order of their starts.
std::vector<Interval_s> spans_of(const TraceRecord& trace, const TraceRank& rank, trace::Event event) {
  const std::int64_t wanted = event_of(trace, event);
  std::vector<Interval_s> spans;
  for (const TraceLane& l : rank.lanes)
    for (std::size_t i = 0; i < l.size(); ++i)
      if (l.event[i] == wanted) spans.push_back({l.start_s[i], l.end_s[i]});
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return spans;
}

double length(const std::vector<Interval_s>& spans) {
  double sum = 0;
  for (const Interval_s& s : spans) sum += s.end - s.start;
  return sum;
}

// Of two lists whose own spans do not overlap, both in order.
double intersection(const std::vector<Interval_s>& a, const std::vector<Interval_s>& b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start));
    if (a[i].end < b[j].end) ++i;
    else ++j;
  }
  return sum;
}

// The k-th all-reduce is the same collective on every rank, so its last start is the moment from which data can flow.
void add_late_ranks(const std::vector<std::vector<Interval_s>>& reduces, std::vector<Overlap>& all) {
  if (reduces.size() < 2) return;  // nobody to be late
  for (const auto& r : reduces)
    if (r.empty() || r.size() != reduces[0].size()) return;  // not seen, or a lane overflowed
  for (Overlap& o : all) o.late_ranks_s = 0;
  for (std::size_t k = 0; k < reduces[0].size(); ++k) {
    double last = reduces[0][k].start;
    for (const auto& r : reduces) last = std::max(last, r[k].start);
    for (std::size_t r = 0; r < reduces.size(); ++r)
      *all[r].late_ranks_s += std::clamp(last - reduces[r][k].start, 0.0, reduces[r][k].end - reduces[r][k].start);
  }
}

}  // namespace

std::vector<Overlap> overlaps(const TraceRecord& trace) {
  using trace::Event;
  std::vector<Overlap> all;
  std::vector<std::vector<Interval_s>> reduces;
  for (const TraceRank& rank : trace.ranks) {
    const auto of = [&](Event event) { return spans_of(trace, rank, event); };
    const auto steps = of(Event::kStep), communication = of(Event::kAllReduce);
    Overlap o{.rank = rank.rank,
        .steps = static_cast<std::int64_t>(steps.size()),
        .all_reduces = communication.size(),
        .step_s = length(steps),
        .communication_s = length(communication)};
    o.behind_backward_s = intersection(communication, of(Event::kBackward));
    o.behind_data_wait_s = intersection(communication, of(Event::kDataWait));
    o.exposed_s = intersection(communication, of(Event::kCommExposed));
    // differences of sums: not below zero
    o.elsewhere_s = std::max(0.0, o.communication_s - o.behind_backward_s - o.behind_data_wait_s - o.exposed_s);
    o.comm_exposed_s = length(of(Event::kCommExposed));
    all.push_back(o);
    reduces.push_back(communication);
  }
  add_late_ranks(reduces, all);
  return all;
}

}  // namespace ttt::reports
