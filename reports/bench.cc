#include "reports/bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/numbers.h"
#include "result/peer_ratio.h"

namespace ttt::reports {
namespace {

using result::Json;

// What Google Benchmark writes beside counters in an entry (its JSONReporter).
const std::set<std::string> kOwnMembers = {"family_index", "per_family_instance_index", "repetitions",
    "repetition_index", "threads", "iterations", "real_time", "cpu_time", "allocs_per_iter", "max_bytes_used"};

double member_number(const Json& entry, const char* key, const std::string& where) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_number())
    throw DataError(where + " has no number '" + std::string(key) + "'. Write it anew with --benchmark_format=json.");
  return it->get<double>();
}

std::string member_text(const Json& entry, const char* key) {
  const auto it = entry.find(key);
  return it != entry.end() && it->is_string() ? it->get<std::string>() : "";
}

double unit_seconds(const Json& entry, const std::string& where) {
  const std::string unit = member_text(entry, "time_unit");
  for (const auto& [name, seconds] : {std::pair{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}})
    if (unit == name) return seconds;
  throw DataError(where + " has no 'time_unit' of ns, us, ms or s. Write it anew with --benchmark_format=json.");
}

void add_entry(const Json& entry, const std::string& where, Benchmark& b) {
  if (entry.value("error_occurred", false) || entry.value("skipped", false)) {
    const std::string message = member_text(entry, entry.contains("error_message") ? "error_message" : "skip_message");
    b.remark = message.empty() ? "gave up without a message" : message;
    return;
  }
  const double unit = unit_seconds(entry, where);
  b.real_s.push_back(member_number(entry, "real_time", where) * unit);
  b.cpu_s.push_back(member_number(entry, "cpu_time", where) * unit);
  b.iterations.push_back(member_number(entry, "iterations", where));
  for (const auto& [key, value] : entry.items())
    if (value.is_number() && !kOwnMembers.contains(key)) b.counters[key].push_back(value.get<double>());
  if (const std::string label = member_text(entry, "label"); !label.empty()) b.remark = label;
}

// With --benchmark_report_aggregates_only there are no repetitions: the aggregate that is a time of an iteration stands
// for them.
bool is_median(const Json& entry) { return member_text(entry, "aggregate_name") == "median"; }

std::string context_text(const Json& c) {
  std::string text = member_text(c, "executable").empty() ? "An unnamed program" : member_text(c, "executable");
  text += " on " + (member_text(c, "host_name").empty() ? "an unnamed host" : member_text(c, "host_name"));
  const auto add = [&](const char* key, const char* after) {
    if (const auto it = c.find(key); it != c.end() && it->is_number()) text += ", " + it->dump() + after;
  };
  add("num_cpus", " CPUs");
  add("mhz_per_cpu", " MHz");
  return text + (member_text(c, "date").empty() ? "" : ", " + member_text(c, "date")) + ".";
}

// What makes the times less than believable.
Table cautions(const Json& c) {
  Table t{.header = {"", "warning"}, .headless = true};
  if (c.value("cpu_scaling_enabled", false))
    t.rows.push_back({"!", "The frequency of the CPUs was not fixed (cpu_scaling_enabled): times vary with it."});
  const auto load = c.find("load_avg"), cpus = c.find("num_cpus");
  if (load != c.end() && load->is_array() && !load->empty() && (*load)[0].is_number() && cpus != c.end() &&
      cpus->is_number() && (*load)[0].get<double>() > 0.5 * cpus->get<double>())
    t.rows.push_back({"!", "The machine was busy when it began: a load of " + fixed("%.2f", (*load)[0].get<double>()) +
                               " on " + cpus->dump() + " CPUs."});
  return t;
}

// Counters stand in columns of their own order, each with its name as its unit: most benchmarks have one.
Table rows_of(const BenchFile& file) {
  std::size_t counters = 0;
  for (const Benchmark& b : file.benchmarks) counters = std::max(counters, b.counters.size());
  Table t{.header = {"benchmark", "repetitions", "real time", "CPU time", "iterations"}, .right = {false}};
  for (std::size_t i = 0; i < counters; ++i) t.header.add("counter");
  t.right.resize(t.header.names().size(), true);
  t.header.add("");
  for (const Benchmark& b : file.benchmarks) {
    Row row = {b.name};
    const auto add = [&](const std::vector<double>& values, auto&& cell) {
      row.push_back(values.empty() ? Cell("-") : cell(median(values)));
    };
    row.push_back(b.aggregated ? Cell("-") : whole(static_cast<std::int64_t>(b.real_s.size())));
    add(b.real_s, short_seconds), add(b.cpu_s, short_seconds);
    add(b.iterations, [](double n) { return Cell(fixed("%.0f", n), n); });
    for (const auto& [name, values] : b.counters)
      add(values, [&](double x) { return Cell(prefixed(x) + " " + name, x, name); });
    row.resize(5 + counters, "-");
    row.push_back(!b.remark.empty()  ? b.remark
                  : b.aggregated     ? "the program's own median: repetitions are not in the file"
                  : b.real_s.empty() ? "no repetition and no median in the file"
                                     : "");
    t.rows.push_back(std::move(row));
  }
  return t;
}

// Where ours is slowest first: random interleaving leaves no order in a file.
std::vector<result::PeerRatio> ratios_of(const BenchFile& file) {
  result::PeerRatios ratios;
  for (const Benchmark& b : file.benchmarks)
    for (const auto& [unit, rates] : b.counters)
      for (const double rate : rates) ratios.add(b.name, unit, rate);
  std::vector<result::PeerRatio> rows = ratios.rows();
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
  return rows;
}

Table peers_of(const std::vector<result::PeerRatio>& rows) {
  Table t{.header = {"operation", "ours", "peer", "ours / peer", "95 % interval", "fastest peer"},
      .right = {false, true, true, true, true}};
  for (const result::PeerRatio& r : rows)
    t.rows.push_back({r.operation, {prefixed(r.ours) + " " + r.unit, r.ours, r.unit},
        {prefixed(r.theirs) + " " + r.unit, r.theirs, r.unit}, number("%.3g", r.ratio),
        r.interval
            ? Cell(fixed("%.3g to %.3g", r.interval->low, r.interval->high), r.interval->low, r.interval->high, "")
            : Cell("-"),
        r.peer});
  t.add("geometric mean", {"", "", number("%.3g", geometric_mean(rows)), "", ""});
  return t;
}

}  // namespace

bool is_bench(const Json& document) {
  return document.is_object() && document.contains("context") && document["context"].is_object() &&
         document.contains("benchmarks") && document["benchmarks"].is_array();
}

BenchFile bench_from_json(const Json& document, const std::string& name) {
  BenchFile file{.name = name, .context = document.at("context")};
  std::map<std::string, std::size_t> place;
  const auto benchmark_of = [&](const std::string& run) -> Benchmark& {
    const auto [it, added] = place.try_emplace(run, file.benchmarks.size());
    if (added) file.benchmarks.push_back({.name = run});
    return file.benchmarks[it->second];
  };
  for (const bool aggregates : {false, true}) {
    for (const Json& entry : document.at("benchmarks")) {
      const std::string run = member_text(entry, entry.contains("run_name") ? "run_name" : "name");
      if (run.empty())
        throw DataError("'" + name + "' has a benchmark without a name. Write it anew with --benchmark_format=json.");
      const bool aggregate = member_text(entry, "run_type") == "aggregate";
      Benchmark& b = benchmark_of(run);
      if (aggregate != aggregates || (aggregate && (!b.real_s.empty() || !is_median(entry)))) continue;
      add_entry(entry, "'" + run + "' in '" + name + "'", b);
      if (aggregate) b.aggregated = true, b.iterations.clear();  // there they are the count of repetitions
    }
  }
  return file;
}

std::string bench_answer(const BenchFile& file) { return peer_answer(ratios_of(file)); }

Document bench(const std::vector<BenchFile>& files) {
  Document d;
  for (const BenchFile& file : files) {
    d.push_back(Heading{file.name});
    if (const std::vector<result::PeerRatio> ratios = ratios_of(file); !ratios.empty()) {
      d.push_back(Paragraph{peer_answer(ratios)});
      d.push_back(peers_of(ratios));
      d.push_back(Heading{"Each benchmark"});
    }
    d.push_back(Paragraph{context_text(file.context)});
    d.push_back(rows_of(file));
    if (Table warnings = cautions(file.context); !warnings.rows.empty()) d.push_back(std::move(warnings));
  }
  return d;
}

static std::function<int()> declare_bench(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  command.add_option("files", a->files, "JSON of micro (--benchmark_format=json) or micro_all_reduce (--out)")
      ->required();
  add_output_options(command, a->output);
  command.footer(
      "Example: micro --benchmark_filter=nms --benchmark_repetitions=4 --benchmark_enable_random_interleaving=true "
      "--benchmark_format=json > micro.json\n         report bench micro.json");
  return [a] {
    const Inputs all = read_inputs(a->files);
    name_left_out(all);
    std::vector<BenchFile> benches;
    for (const BenchInput& b : all.benches) benches.push_back(b.file);
    for (const ResultFile& r : all.results)
      std::fprintf(stderr,
          "report: '%s' is a result of this suite, not of Google Benchmark: 'report show' prints it.\n",
          r.run.name.c_str());
    if (!benches.empty()) print(bench(benches), a->output);
    return benches.empty() && all.left_out.empty() ? 2 : all.exit_code();
  };
}

const Command kBench = {
    "bench", "Micro-benchmarks: the JSON output of Google Benchmark programs as a table", declare_bench};

}  // namespace ttt::reports
