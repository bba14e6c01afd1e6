#include "result/trace_record.h"

#include <cmath>

#include "core/error.h"
#include "result/members.h"

namespace ttt::result {
namespace {

Json lane_json(const TraceLane& l) {
  return {{"name", l.name}, {"dropped", l.dropped}, {"event", l.event}, {"start_s", l.start_s}, {"end_s", l.end_s},
      {"number", l.number}, {"bytes", l.bytes}};
}

TraceLane lane_from_json(const Json& object, std::size_t events) {
  const std::string path = "trace.ranks.lanes";
  TraceLane l{.name = get<std::string>(object, "name", path),
      .dropped = get<std::int64_t>(object, "dropped", path),
      .event = get_list<std::int64_t>(object, "event", path),
      .start_s = get_list<double>(object, "start_s", path),
      .end_s = get_list<double>(object, "end_s", path),
      .number = get_list<std::int64_t>(object, "number", path),
      .bytes = get_list<std::int64_t>(object, "bytes", path)};
  const std::size_t n = l.size();
  bool whole = l.start_s.size() == n && l.end_s.size() == n && l.number.size() == n && l.bytes.size() == n;
  for (std::size_t i = 0; whole && i < n; ++i)
    whole = l.event[i] >= 0 && l.event[i] < static_cast<std::int64_t>(events) && l.start_s[i] <= l.end_s[i];
  if (!whole)
    throw DataError("The lane '" + l.name +
                    "' of 'trace' in the result has columns of different lengths, an unknown event, or a span that "
                    "ends before it starts. Take the original file.");
  return l;
}

}  // namespace

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

Json trace_rank_json(const TraceRank& r) {
  Json lanes = Json::array();
  for (const TraceLane& l : r.lanes) lanes.push_back(lane_json(l));
  return {{"rank", r.rank}, {"clock_offset_s", r.clock_offset_s}, {"clock_uncertainty_s", r.clock_uncertainty_s},
      {"lanes", std::move(lanes)}};
}

TraceRank trace_rank_from_json(const Json& object, std::size_t events) {
  TraceRank r{.rank = get<std::int64_t>(object, "rank", "trace.ranks"),
      .clock_offset_s = get<double>(object, "clock_offset_s", "trace.ranks"),
      .clock_uncertainty_s = get<double>(object, "clock_uncertainty_s", "trace.ranks")};
  for (const Json& l : get_array(object, "lanes", "trace.ranks")) r.lanes.push_back(lane_from_json(l, events));
  return r;
}

Json trace_json(const TraceRecord& t) {
  Json ranks = Json::array();
  for (const TraceRank& r : t.ranks) ranks.push_back(trace_rank_json(r));
  return {{"from_step", t.from_step}, {"steps", t.steps}, {"events", t.events}, {"ranks", std::move(ranks)}};
}

TraceRecord trace_from_json(const Json& object) {
  TraceRecord t{.from_step = get<std::int64_t>(object, "from_step", "trace"),
      .steps = get<std::int64_t>(object, "steps", "trace"),
      .events = get_list<std::string>(object, "events", "trace")};
  for (const Json& r : get_array(object, "ranks", "trace")) t.ranks.push_back(trace_rank_from_json(r, t.events.size()));
  return t;
}

}  // namespace ttt::result
