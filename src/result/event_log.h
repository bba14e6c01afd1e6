// The moments of a run, each on two clocks: what logs, and the clocks that benchmarks disagree about, are derived from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "result/record_fields.h"

namespace ttt::result {

enum class EventKind {
  kProgramStart,
  kRunStart,
  kEpochStart,
  kEpochStop,
  kEvaluationStart,
  kEvaluationPredicted,
  kEvaluationStop,
  kCheckpointStart,
  kCheckpointStop,
  kRunStop,
  kProgramStop
};
using EventWord = std::pair<EventKind, std::string_view>;
std::span<const EventWord> words_of(EventKind);  // "program_start", ...

struct Event {
  EventKind kind = EventKind::kProgramStart;
  std::int64_t time_ms = 0;          // since the Unix epoch: compares with other logs and nodes
  double clock_s = 0;                // monotonic, since the start of the program: what durations are made of
  std::int64_t step = 0, epoch = 0;  // steps done; the epoch, from 1, 0 outside of the run
  Json values = Json::object();      // evaluation_stop: BBOX and SEGM; epoch_stop: images; run_stop: status

  template <class Self, class Visitor> static void fields(Self& e, Visitor&& v) {
    v("event", e.kind, "what happened");
    v("time_ms", e.time_ms, "since the Unix epoch, by the calendar's clock", at_least(0));
    v("clock_s", e.clock_s, "since the start of the program, by the monotonic clock", at_least(0));
    v("step", e.step, "steps done", at_least(0));
    v("epoch", e.epoch, "from 1; 0 outside of the run", at_least(0));
    v.optional("value", e.values, "evaluation_stop: BBOX and SEGM; epoch_stop: images; run_stop: status");
  }
};

// Three clocks that published times to accuracy are told by. They differ by what they leave out, so they are never
// compared with one another.
struct BenchmarkClocks {
  double mlperf_s = 0;     // run start to run stop, evaluation included, initialisation not (MLPerf training rules)
  double dawnbench_s = 0;  // the same without evaluation and checkpoints, which DAWNBench lets a submission leave out
};
// Nothing where the run did not start or did not stop, and where it resumed from an earlier one: what came before is
// not in its events.
std::optional<BenchmarkClocks> benchmark_clocks(const std::vector<Event>& events);

// Puts the two clocks' readings on what is told, and hands it on.
class EventLog {
 public:
  using Sink = std::function<void(const Event&)>;
  // `start_s`: now_s() at the start of the program; the first event, program_start, is of that moment.
  EventLog(double start_s, Sink sink);
  void add(EventKind kind, std::int64_t step = 0, std::int64_t epoch = 0, Json values = Json::object());

 private:
  double start_s_;
  Sink sink_;
};

}  // namespace ttt::result
