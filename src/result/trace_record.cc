#include "result/trace_record.h"

#include <cmath>

namespace ttt::result {

void TraceLane::check(const TraceLane& l, const std::string& path) {
  const std::size_t n = l.size();
  bool whole = l.start_s.size() == n && l.end_s.size() == n && l.number.size() == n && l.bytes.size() == n;
  for (std::size_t i = 0; whole && i < n; ++i) whole = l.start_s[i] <= l.end_s[i];
  if (!whole)
    throw DataError("The lane '" + l.name + "' of '" + path +
                    "' in the result has columns of different lengths, or a span that ends before it starts. Take the "
                    "original file.");
}

void TraceRecord::check(const TraceRecord& t, const std::string& path) {
  for (const TraceRank& rank : t.ranks)
    for (const TraceLane& lane : rank.lanes)
      for (const std::int64_t event : lane.event)
        if (event < 0 || event >= std::ssize(t.events))
          throw DataError("The lane '" + lane.name + "' of '" + path +
                          "' in the result has an unknown event. Take the original file.");
}

TraceRank rank_trace(const trace::Recorder& recorder, std::int64_t rank) {
  TraceRank r{.rank = rank};
  for (const trace::Lane* lane : recorder.lanes()) {
    TraceLane& l = r.lanes.emplace_back(TraceLane{.name = lane->name(), .dropped = lane->dropped()});
    for (const trace::Span& s : lane->spans()) {
      l.event.push_back(static_cast<std::int64_t>(s.event));
      l.start_s.push_back(s.start_s), l.end_s.push_back(s.end_s);
      l.number.push_back(s.number), l.bytes.push_back(s.bytes);
    }
  }
  return r;
}

void shift(TraceRank& rank, double offset_s) {
  const auto to = [&](double& t) { t = std::round((t - offset_s) * 1e9) / 1e9; };
  for (TraceLane& l : rank.lanes)
    for (std::size_t i = 0; i < l.size(); ++i) to(l.start_s[i]), to(l.end_s[i]);
}

}  // namespace ttt::result
