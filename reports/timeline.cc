#include "reports/timeline.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "reports/command_line.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

using result::TraceLane;
using result::TraceRank;
using result::TraceRecord;
using trace::Event;
using trace::name_of;

// Both of the loader's worker: what it did, and that it was as far ahead as it may be.
Table workers(const TraceRecord& trace) {
  Table t{
      .header = {"rank", "lane", "images", "working", "waiting for room"}, .right = {true, false, true, true, true}};
  for (const TraceRank& rank : trace.ranks) {
    for (const TraceLane& l : rank.lanes) {
      double first = 0, last = 0, work = 0, wait = 0;
      std::int64_t images = 0;
      for (std::size_t i = 0; i < l.size(); ++i) {
        const std::string& event = trace.events[static_cast<std::size_t>(l.event[i])];
        first = i ? std::min(first, l.start_s[i]) : l.start_s[i], last = std::max(last, l.end_s[i]);
        if (event == name_of(Event::kImage)) ++images;
        if (event == name_of(Event::kImage) || event == name_of(Event::kFinishBatch)) work += l.end_s[i] - l.start_s[i];
        if (event == name_of(Event::kWaitRoom)) wait += l.end_s[i] - l.start_s[i];
      }
      if (images == 0) continue;
      t.rows.push_back(
          {whole(rank.rank), l.name, whole(images), percent(work / (last - first)), percent(wait / (last - first))});
    }
  }
  return t;
}

Table overlap_table(const std::vector<Overlap>& all) {
  Table t{.header = {"rank", "step", "communication", "behind backward", "behind data wait", "exposed", "elsewhere",
              "late ranks", "comm_exposed"},
      .right = std::vector<bool>(9, true)};
  for (const Overlap& o : all) {
    const auto mean = [&](double s) {
      return o.steps > 0 ? short_seconds(s / static_cast<double>(o.steps)) : Cell("-");
    };
    const auto part = [&](std::optional<double> s) {
      if (!s || o.all_reduces == 0 || o.steps == 0) return Cell("-");
      Cell cell = mean(*s);
      if (o.communication_s > 0) cell.text += fixed(" (%.0f %%)", 100 * *s / o.communication_s);
      return cell;
    };
    t.rows.push_back({whole(o.rank), mean(o.step_s), o.all_reduces > 0 ? mean(o.communication_s) : Cell("-"),
        part(o.behind_backward_s), part(o.behind_data_wait_s), part(o.exposed_s), part(o.elsewhere_s),
        part(o.late_ranks_s), mean(o.comm_exposed_s)});
  }
  return t;
}

// What limits the trace: clocks, and spans that found no room.
Table limits(const TraceRecord& trace) {
  Table t{.header = {"", "warning"}, .headless = true};
  double worst = 0;
  for (const TraceRank& r : trace.ranks) worst = std::max(worst, r.clock_uncertainty_s);
  if (trace.ranks.size() > 1)
    t.rows.push_back({"clocks", "of two ranks compare to " + short_time(2 * worst) + " or better"});
  for (const TraceRank& r : trace.ranks)
    for (const TraceLane& l : r.lanes)
      if (l.dropped > 0)
        t.rows.push_back({"!", "rank " + std::to_string(r.rank) + ", " + l.name + ": " + std::to_string(l.dropped) +
                                   " spans found no room and are missing from every number here; record fewer steps"});
  return t;
}

struct Track {
  std::int64_t pid, tid;
};

result::Json metadata(const Track& at, const char* name, result::Json args) {
  return {{"name", name}, {"ph", "M"}, {"pid", at.pid}, {"tid", at.tid}, {"args", std::move(args)}};
}

result::Json arguments(const std::string& event, std::int64_t number, std::int64_t bytes) {
  if (event == name_of(Event::kStep)) return {{"step", number}};
  if (event == name_of(Event::kEvaluation)) return {{"epoch", number}};
  if (event == name_of(Event::kAllReduce) || event == name_of(Event::kBucketReady))
    return {{"bucket", number}, {"bytes", bytes}};
  if (event == name_of(Event::kImage) || event == name_of(Event::kFinishBatch)) return {{"batch", number}};
  return result::Json::object();
}

// Microseconds with three decimals: the trace has whole nanoseconds.
double microseconds(double s) { return static_cast<double>(std::llround(s * 1e9)) / 1e3; }

void add_lane(const TraceRecord& trace, const TraceLane& l, const Track& at, double zero_s, result::Json& events) {
  std::vector<std::size_t> order(l.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // By start; of those that start together the outer one first.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return l.start_s[a] != l.start_s[b] ? l.start_s[a] < l.start_s[b] : l.end_s[a] > l.end_s[b];
  });
  for (const std::size_t i : order) {
    const std::string& name = trace.events[static_cast<std::size_t>(l.event[i])];
    const double start = microseconds(l.start_s[i] - zero_s), end = microseconds(l.end_s[i] - zero_s);
    const bool moment = name == name_of(Event::kBucketReady);
    result::Json e = {
        {"name", name}, {"cat", l.name}, {"ph", moment ? "i" : "X"}, {"ts", start}, {"pid", at.pid}, {"tid", at.tid}};
    if (moment) e["s"] = "t";
    else e["dur"] = microseconds((end - start) / 1e6);
    e["args"] = arguments(name, l.number[i], l.bytes[i]);
    events.push_back(std::move(e));
  }
}

// Viewers want times from zero on; a loader may have begun before the run did.
double earliest_s(const TraceRecord& trace) {
  double first = 0;
  for (const TraceRank& r : trace.ranks)
    for (const TraceLane& l : r.lanes)
      for (const double s : l.start_s) first = std::min(first, s);
  return first;
}

void add_timeline(const NamedRun& run, Document& d) {
  const TraceRecord& trace = *run.record.trace;
  const std::vector<Overlap> all = overlaps(trace);
  const std::int64_t steps = all.empty() ? 0 : all[0].steps;
  d.push_back(Heading{run.name});
  if (steps == 0) {
    d.push_back(Paragraph{"No step was recorded: the run ended before step " + std::to_string(trace.from_step) +
                          ". Lower train.trace_from."});
    return;
  }
  d.push_back(Paragraph{std::to_string(steps) + " steps from step " + std::to_string(trace.from_step) +
                        " on. Means of a step; in brackets the part of the communication of gradients:"});
  d.push_back(overlap_table(all));
  if (std::all_of(all.begin(), all.end(), [](const Overlap& o) { return o.all_reduces == 0; }))
    d.push_back(Paragraph{
        "No all-reduce of gradients was recorded: one rank, or a communicator whose work the host does not see."});
  Table loader = workers(trace);
  if (!loader.rows.empty()) {
    d.push_back(Heading{run.name + ": loader"});
    d.push_back(std::move(loader));
  }
  Table rest = limits(trace);
  if (!rest.rows.empty()) {
    d.push_back(Heading{run.name + ": limits of these numbers"});
    d.push_back(std::move(rest));
  }
}

}  // namespace

std::string why_no_trace(const NamedRun& run) {
  if (run.record.trace) return "";
  const result::Json none, &settings = run.record.recipe.settings;
  const result::Json& steps =
      settings.contains("train") && settings["train"].contains("trace_steps") ? settings["train"]["trace_steps"] : none;
  if (steps.is_number() && steps.get<double>() > 0)
    return "It holds no trace, though train.trace_steps = " + steps.dump() + " asked for one: the run (" +
           std::string(result::verdict_name(run.record.verdict)) +
           ") ended before the ranks' spans were gathered. Run it again, to its end.";
  return "It holds no trace: none was asked for. Run again with --set train.trace_steps=20.";
}

Document timeline(const std::vector<NamedRun>& runs) {
  Document d;
  for (const NamedRun& run : runs) add_timeline(run, d);
  return d;
}

std::string chrome_trace(const std::vector<NamedRun>& runs) {
  result::Json events = result::Json::array();
  std::int64_t pid = 0;
  for (const NamedRun& run : runs) {
    const TraceRecord& trace = *run.record.trace;
    const double zero_s = earliest_s(trace);
    for (const TraceRank& rank : trace.ranks) {
      const std::string name = (runs.size() > 1 ? run.name + ", " : "") + "rank " + std::to_string(rank.rank);
      events.push_back(metadata({pid, 0}, "process_name", {{"name", name}}));
      events.push_back(metadata({pid, 0}, "process_sort_index", {{"sort_index", pid}}));
      for (std::size_t i = 0; i < rank.lanes.size(); ++i) {
        const TraceLane& l = rank.lanes[i];
        const Track at{pid, l.name == "main" ? 0 : static_cast<std::int64_t>(i) + 1};
        events.push_back(metadata(at, "thread_name", {{"name", l.name}}));
        events.push_back(metadata(at, "thread_sort_index", {{"sort_index", at.tid}}));
        add_lane(trace, l, at, zero_s, events);
      }
      ++pid;
    }
  }
  return result::dump({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}, -1) + "\n";
}

static std::function<int()> declare_timeline(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::string out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  add_files(command, *a, "Result files of runs with train.trace_steps");
  command.add_option("--out", a->out,
      "Write the spans of all files there, in Chrome's trace event format: open it in ui.perfetto.dev "
      "or chrome://tracing");
  command.add_flag("--force", a->force, "Replace --out where it exists");
  add_output_options(command, a->output);
  command.footer("Example: report timeline traced.json --out trace.json");
  return [a, &command] {
    if (!a->out.empty() && command.count("--format") + command.count("--width") > 0)
      throw UsageError(
          "--format and --width are of the printed report; --out writes a file for trace viewers in its one format. "
          "Leave out either.");
    Runs all = read_runs(*a);
    leave_out(all, why_no_trace);
    if (all.runs.empty()) return all.exit_code;
    if (a->out.empty()) {
      print(timeline(all.runs), a->output);
    } else {
      write_page(a->out, chrome_trace(all.runs), a->force);
      std::printf("%s: open https://ui.perfetto.dev and drop the file there\n", a->out.c_str());
    }
    return all.exit_code;
  };
}

const Command kTimeline = {"timeline",
    "What the threads of a run did when: communication against the phases of the steps, or a file for trace viewers "
    "(--out)",
    declare_timeline};

}  // namespace ttt::reports
