#include "result/event_log.h"

#include "core/error.h"
#include "result/members.h"

namespace ttt::result {
namespace {

struct KindName {
  EventKind kind;
  std::string_view name;
};
constexpr KindName kNames[] = {{EventKind::kProgramStart, "program_start"}, {EventKind::kRunStart, "run_start"},
    {EventKind::kEpochStart, "epoch_start"}, {EventKind::kEpochStop, "epoch_stop"},
    {EventKind::kEvaluationStart, "evaluation_start"}, {EventKind::kEvaluationPredicted, "evaluation_predicted"},
    {EventKind::kEvaluationStop, "evaluation_stop"}, {EventKind::kCheckpointStart, "checkpoint_start"},
    {EventKind::kCheckpointStop, "checkpoint_stop"}, {EventKind::kRunStop, "run_stop"},
    {EventKind::kProgramStop, "program_stop"}};

}  // namespace

std::string_view event_name(EventKind kind) {
  for (const KindName& n : kNames)
    if (n.kind == kind) return n.name;
  throw Error("An event without a name. This is a bug.");
}

EventKind event_from_name(const std::string& name) {
  for (const KindName& n : kNames)
    if (n.name == name) return n.kind;
  throw DataError("'" + name + "' is no event of a result. Take the original file.");
}

Json event_json(const Event& e) {
  Json j = {{"event", event_name(e.kind)}, {"time_ms", e.time_ms}, {"clock_s", e.clock_s}, {"step", e.step},
      {"epoch", e.epoch}};
  if (!e.values.empty()) j["value"] = e.values;
  return j;
}

Event event_from_json(const Json& object, const std::string& path) {
  return {.kind = event_from_name(get<std::string>(object, "event", path)),
      .time_ms = get<std::int64_t>(object, "time_ms", path),
      .clock_s = get<double>(object, "clock_s", path),
      .step = get<std::int64_t>(object, "step", path),
      .epoch = get<std::int64_t>(object, "epoch", path),
      .values = object.contains("value") ? get_object(object, "value", path) : Json::object()};
}

std::optional<BenchmarkClocks> benchmark_clocks(const std::vector<Event>& events) {
  std::optional<double> start, stop;
  double paused_s = 0, since_s = 0;
  bool beside = false;
  int depth = 0;  // a checkpoint within an evaluation is one pause, not two
  const auto pause = [&](double at, int change) {
    if (depth == 0) since_s = at;
    depth += change;
    if (depth == 0) paused_s += at - since_s;
  };
  for (const Event& e : events) {
    if (e.kind == EventKind::kRunStart && e.step == 0) start = e.clock_s;
    if (!start || stop) continue;
    if (e.kind == EventKind::kEvaluationStart || e.kind == EventKind::kCheckpointStart) pause(e.clock_s, +1);
    // Of an evaluation beside which training continued the end is no end of a pause.
    if (e.kind == EventKind::kEvaluationStart) beside = false;
    if (e.kind == EventKind::kEvaluationStop && beside) continue;
    if (e.kind == EventKind::kEvaluationPredicted) beside = true;
    if (depth > 0 && (e.kind == EventKind::kEvaluationPredicted || e.kind == EventKind::kEvaluationStop ||
                         e.kind == EventKind::kCheckpointStop))
      pause(e.clock_s, -1);
    if (e.kind == EventKind::kRunStop) {
      stop = e.clock_s;
      if (depth > 0) paused_s += e.clock_s - since_s;
    }
  }
  if (!start || !stop) return std::nullopt;
  return BenchmarkClocks{.mlperf_s = *stop - *start, .dawnbench_s = *stop - *start - paused_s};
}

EventLog::EventLog(double start_s, Sink sink) : start_s_(start_s), sink_(std::move(sink)) {
  const auto since_ms = static_cast<std::int64_t>((now_s() - start_s_) * 1e3);
  sink_({.kind = EventKind::kProgramStart, .time_ms = unix_ms() - since_ms});
}

void EventLog::add(EventKind kind, std::int64_t step, std::int64_t epoch, Json values) {
  sink_({.kind = kind,
      .time_ms = unix_ms(),
      .clock_s = now_s() - start_s_,
      .step = step,
      .epoch = epoch,
      .values = std::move(values)});
}

}  // namespace ttt::result
