#include "result/event_log.h"

namespace ttt::result {
namespace {

constexpr EventWord kWords[] = {{EventKind::kProgramStart, "program_start"}, {EventKind::kRunStart, "run_start"},
    {EventKind::kEpochStart, "epoch_start"}, {EventKind::kEpochStop, "epoch_stop"},
    {EventKind::kEvaluationStart, "evaluation_start"}, {EventKind::kEvaluationPredicted, "evaluation_predicted"},
    {EventKind::kEvaluationStop, "evaluation_stop"}, {EventKind::kCheckpointStart, "checkpoint_start"},
    {EventKind::kCheckpointStop, "checkpoint_stop"}, {EventKind::kRunStop, "run_stop"},
    {EventKind::kProgramStop, "program_stop"}};

}  // namespace

std::span<const EventWord> words_of(EventKind) { return kWords; }

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
