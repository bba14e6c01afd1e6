#include "reports/show.h"

#include <algorithm>

#include "core/statistics.h"
#include "core/text.h"
#include "reports/checkpoints.h"
#include "reports/command_line.h"
#include "reports/gpus.h"
#include "reports/numbers.h"
#include "reports/phases.h"
#include "reports/preflight.h"
#include "reports/ranking.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"
#include "result/figures.h"
#include "result/result_file.h"

namespace ttt::reports {
namespace {

using result::counted;
using result::Json;
using result::RunRecord;

// -1 stands for "the ground truth has no such object".

// A member, or an empty object or list in its place.
Json member_or_empty(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? Json::array() : *it;
}

// "2 ranks"; what is missing is not taken for 0 or 1.
std::string counted(const Json& object, const char* key, const std::string& noun) {
  const auto it = object.find(key);
  if (it != object.end() && it->is_number_integer()) return counted(it->get<std::int64_t>(), noun);
  return "an unknown number of " + noun + "s";
}

void add_verdict(const RunRecord& r, Document& d) {
  d.push_back(Heading{result::headline(r) + (r.reason.empty() ? ": no reason was given" : "")});
  d.push_back(Paragraph{r.kind + ", recipe " + r.recipe.name + " (" + r.recipe.sha256.substr(0, 12) + "), " +
                        counted(r.system, "world_size", "rank") + " on " + machine_text(r) + ", started " +
                        text_at(r.provenance, "started_at") + "."});
}

void add_factors(const RunRecord& r, Document& d) {
  const TimeFactors f = time_factors(r);
  if (f.total_s <= 0) return;
  const auto share = [&](double s) { return percent(s / f.total_s); };
  Table t{.header = {"", "time", "share of total"}, .right = {false, true, true}, .headless = true};
  const auto add = [&](Label name, double s) { t.add(name, {seconds(s), share(s)}); };
  if (f.epochs > 0) {
    t.add(f.reached ? Label("epochs to target") : Label("epochs trained"), {number("%.2f", f.epochs), ""});
    t.add(f.reached ? Label("samples to target") : Label("samples trained"), {number("%.0f", f.images), ""});
    t.add("x time per epoch", {seconds(f.epoch_s), ""});
  }
  const bool sampled = r.steps.size() > 0 || !r.accuracy.empty();  // without any sample these are unknown, not zero
  const auto add_sampled = [&](Label name, double s) { sampled ? add(name, s) : t.add(name, {"-", "-"}); };
  add_sampled(f.epochs > 0 ? Label("= training") : Label("training"), f.training_s);
  add_sampled("+ evaluation (exposed)", f.evaluation_s);
  if (f.checkpoint_s > 0) add("+ checkpoints (stall)", f.checkpoint_s);
  if (f.lost_s > 0) add("+ lost to interruptions", f.lost_s);
  add("+ start-up", f.startup_s);
  add_sampled("+ unaccounted", f.unaccounted_s);
  add(f.reached ? Label("= time to target") : Label("= time without target"), f.time_to_target_s);
  if (f.crossing) add("time to crossing", f.time_to_crossing_s);
  add("+ after the run", f.after_s);
  add("= total by the clock", f.total_s);
  d.push_back(Heading{f.reached ? "Time to target" : "Time (the target was not reached)"});
  d.push_back(std::move(t));
  if (f.crossing) d.push_back(Paragraph{crossing_text(*f.crossing)});
  if (sampled && !f.adds_up())
    d.push_back(
        Paragraph{"The factors do not add up to the clock: " + seconds(f.unaccounted_s).text + " (" +
                  share(f.unaccounted_s).text +
                  ") are unaccounted. Treat the factors with suspicion; reports/METRICS.md says what can cause it."});
}

// The clocks by which others tell their time to accuracy.
void add_clocks(const RunRecord& r, Document& d) {
  const auto clocks = result::benchmark_clocks(r.events);
  if (!clocks) return;
  Table t{.header = {"clock", "time", ""}, .right = {false, true, false}};
  t.add("MLPerf", {seconds(clocks->mlperf_s), "run start to run stop, evaluation included"});
  t.add("DAWNBench", {seconds(clocks->dawnbench_s), "the same without evaluation and checkpoints"});
  t.add("total", {seconds(r.clocks.total_s), "start of the program to the writing of the result"});
  d.push_back(Heading{"Clocks"});
  d.push_back(std::move(t));
}

// What a run was held to, and what it was allowed to break.
void add_division(const RunRecord& r, Document& d) {
  if (!r.mlperf || r.mlperf->division == "none") return;
  d.push_back(Heading{"MLPerf division " + r.mlperf->division + ", log " + r.mlperf->log});
  std::string relaxed;
  for (const result::RelaxedRule& b : r.mlperf->relaxed)
    relaxed +=
        (relaxed.empty() ? "" : "; ") + b.rule + ": " + b.setting + " = " + b.is + " (allowed: " + b.allowed + ")";
  d.push_back(Paragraph{relaxed.empty() ? "No rule is relaxed." : "Relaxed rules: " + relaxed + "."});
}

// One row for each group of metrics, one column for each metric of the first.
Table grouped_metrics(const result::Evaluation& e) {
  Table t{.header = {"last"}, .right = {false}};
  for (const result::Metric& m : e.metrics) {
    const std::size_t dot = m.name.find('.');
    if (dot == std::string::npos) continue;
    const std::string kind = m.name.substr(dot + 1), title = result::metric_title(m.name);
    const std::string group = title.substr(0, title.size() - kind.size() - 1);
    const auto first = [](const Row& row) { return row.front().text; };
    if (t.rows.empty() || first(t.rows.back()) != group) t.rows.push_back({group});
    if (t.rows.size() == 1) t.header.add_data(kind);
    t.rows.back().push_back(metric_cell("%.3f", e, m.name));
  }
  t.right.resize(t.header.names().size(), true);
  return t;
}

void add_accuracy(const RunRecord& r, Document& d) {
  d.push_back(Heading{"Accuracy"});
  if (r.target) d.push_back(Paragraph{target_text(*r.target)});
  if (r.accuracy.empty()) {
    d.push_back(Paragraph{"No evaluation took place."});
    return;
  }
  Table t{.header = {"epoch", "step", "wall"}};
  const std::vector<std::string> names = headline_metrics(r, 3);
  for (const std::string& name : names) t.header.add_data(result::metric_title(name));
  t.header.add("took");
  t.right.assign(t.header.names().size(), true);
  t.header.add("");
  for (const result::Evaluation& e : r.accuracy) {
    Row& row = t.rows.emplace_back(Row{whole(e.epoch), whole(e.step), {fixed("%.1f s", e.wall_s), e.wall_s, "s"}});
    for (const std::string& name : names) row.push_back(metric_cell("%.4f", e, name));
    row.push_back(short_seconds(e.duration_s));
    row.push_back(r.target && result::reached(e.metrics, *r.target) ? "*" : "");
  }
  d.push_back(std::move(t));
  Table all = grouped_metrics(r.accuracy.back());
  if (reaching_evaluation(r)) d.push_back(Paragraph{"* reaches the target."});
  if (r.fresh && r.target)
    d.push_back(
        Paragraph{"On " + result::grouped_digits(r.fresh->images) + " fresh images, generated for this seed alone: " +
                  result::metrics_text(result::bounded(r.fresh->metrics, *r.target), 4) + "."});
  if (all.rows.empty()) return;
  d.push_back(Paragraph{"All numbers of the last evaluation (- where no such object is there):"});
  d.push_back(std::move(all));
}

void add_step_time(const RunRecord& r, Document& d) {
  if (r.steps.size() == 0) return;
  d.push_back(Heading{"Where the step's time went"});
  Table t{.header = {"phase", "median", "share"}, .right = {false, true, true}};
  for (const PhaseShare& p : phase_shares(r)) t.rows.push_back({p.name, short_seconds(p.median_s), percent(p.share)});
  const Spread step = spread(r.steps.step_s);
  t.add("step", {short_seconds(step.median), percent(1)});
  d.push_back(std::move(t));
  d.push_back(
      Paragraph{counted(r.steps.size(), "step") + ", p5 " + short_time(step.p5) + ", p95 " + short_time(step.p95) +
                ". Over ranks: step times " + r.steps.step_ranks + ", phases " + r.steps.phase_ranks + "."});
  const std::vector<double> rates = step_rates(r);
  if (rates.empty()) return;
  const Spread rate = spread(rates);
  double images = 0;
  for (const std::int64_t n : r.steps.images) images += static_cast<double>(n);
  d.push_back(Heading{"Throughput"});
  Table rows{.header = {"", "images/s", ""}, .right = {false, true, false}, .headless = true};
  rows.add("images/s of a step", {number("%.2f", rate.median), fixed("median; p5 %.2f, p95 %.2f", rate.p5, rate.p95)});
  rows.add("images/s of training", {number("%.2f", images / sum(r.steps.step_s)), "all images / all step times"});
  if (r.clocks.run_s > 0)
    rows.add("images/s of the run", {number("%.2f", images / r.clocks.run_s), "all images / run with evaluation"});
  d.push_back(std::move(rows));
}

void add_peaks(const RunRecord& r, Document& d) {
  d.push_back(Heading{"Peaks of this machine"});
  Table t{.header = {"peak", "best", "median", "samples", "work"}, .right = {false, true, true, true}};
  for (const result::Peak& p : r.peaks) {
    const auto rate = [&](double x) { return Cell(fixed("%.4g G", x / 1e9) + p.unit, x, p.unit); };
    t.rows.push_back({p.name, rate(*std::max_element(p.samples.begin(), p.samples.end())), rate(median(p.samples)),
        whole(static_cast<std::int64_t>(p.samples.size())), p.work});
  }
  d.push_back(std::move(t));
}

std::string memory_text(const Json& node) {
  const auto it = node.find("memory_bytes");
  return it != node.end() && it->is_number() ? fixed("%.1f GiB", it->get<double>() / (1 << 30)) : "unknown memory";
}

void add_system(const RunRecord& r, Document& d) {
  d.push_back(Heading{"System and build"});
  Table t{.header = {"", ""}, .headless = true};
  std::vector<std::pair<std::string, int>> kinds;  // equal nodes are one line
  for (const Json& node : member_or_empty(r.system, "nodes")) {
    const std::string model = text_at(node, "cpu_model", ""), features = text_at(node, "cpu_features", "");
    const std::string text = text_at(node, "cpu") + (model.empty() ? "" : " " + model) +
                             (features.empty() ? "" : " (" + features + ")") + ", " + text_at(node, "usable_cores") +
                             " of " + text_at(node, "logical_cores") + " cores, " + memory_text(node) + ", " +
                             text_at(node, "os") + ", " + text_at(node, "kernel") +
                             (node.contains("gpus") ? ", " + node["gpus"].dump() : "");
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == text; });
    if (same == kinds.end()) kinds.emplace_back(text, 1);
    else ++same->second;
  }
  for (const auto& [text, count] : kinds) t.rows.push_back({counted(count, "node"), text});
  const Json& p = r.provenance;
  t.add("commit", {text_at(p, "commit") + (p.value("dirty", false) ? " with uncommitted changes" : "")});
  t.add("build", {text_at(p, "build_type") + ", " + text_at(p, "compiler") + ", " + text_at(p, "flags")});
  std::string libraries;
  const Json libraries_of = member_or_empty(p, "libraries");
  for (const auto& [name, version] : libraries_of.items()) {
    const std::string built = text_at(version, "built", ""), runtime = text_at(version, "runtime", "");
    libraries += (libraries.empty() ? "" : ", ") + name + " " + (runtime.empty() ? built : runtime);
    if (!built.empty() && !runtime.empty() && built != runtime) libraries += " (built with " + built + ")";
  }
  if (!libraries.empty()) t.add("libraries", {libraries});
  for (const auto& [part, description] : r.built.items()) t.rows.push_back({part, plain_text(description)});
  if (!r.data.empty()) t.add("data", {plain_text(r.data)});
  std::string command;
  for (const Json& word : member_or_empty(p, "command"))
    command.append(command.empty() ? "" : " ").append(word.is_string() ? word.get<std::string>() : word.dump());
  t.add("command", {command});
  d.push_back(std::move(t));
}

void add_recipe(const RunRecord& r, Document& d) {
  d.push_back(Heading{"Settings changed from recipe " + r.recipe.name});
  if (r.recipe.changes.empty()) {
    d.push_back(Paragraph{"None."});
    return;
  }
  Table t{.header = {"key", "recipe", "this run"}};
  for (const Json& change : r.recipe.changes)
    t.rows.push_back({text_at(change, "key"), text_at(change, "default"), text_at(change, "value")});
  d.push_back(std::move(t));
}

// The run's own warnings, and what its provenance says against its numbers.
void add_warnings(const RunRecord& r, Document& d) {
  Table t{.header = {"", "warning"}, .headless = true};
  const auto add = [&](const std::string& text) { t.rows.push_back({"!", text}); };
  for (const std::string& warning : r.warnings) add(warning);
  if (!r.non_finite.empty()) {
    const result::NonFinite& n = r.non_finite.front();
    add(counted(r.non_finite.size(), "number") + " not finite, the first in step " + std::to_string(n.step) + ": " +
        n.name + " = " + n.value + ".");
  }
  if (r.provenance.value("dirty", false)) add("Built from a tree with uncommitted changes: nobody else has this code.");
  if (!text_at(r.provenance, "sanitize", "").empty()) add("Built with sanitizers: times mean nothing.");
  if (text_at(r.provenance, "build_type") == "Debug") add("Built without optimisation: times mean nothing.");
  if (t.rows.empty()) return;
  d.push_back(Heading{"Warnings"});
  d.push_back(std::move(t));
}

}  // namespace

Document show_run(const RunRecord& record) {
  Document d;
  add_verdict(record, d);
  if (!record.peaks.empty()) add_peaks(record, d);
  const Document checks = preflight_blocks(record);
  d.insert(d.end(), checks.begin(), checks.end());
  if (!record.comparisons.empty() || !record.convergence.empty() || !record.batch_ladders.empty()) {
    const Document ranked = ranked_blocks({{"", record}});
    d.insert(d.end(), ranked.begin(), ranked.end());
  } else if (record.kind != "roofline" && record.kind != "preflight") {  // which have no training
    add_factors(record, d);
    add_clocks(record, d);
    add_division(record, d);
    add_accuracy(record, d);
    add_step_time(record, d);
    for (const Document& blocks :
        {phase_blocks(record), checkpoint_blocks(record), gpu_blocks(record), profile_blocks(record)})
      d.insert(d.end(), blocks.begin(), blocks.end());
  }
  add_system(record, d);
  add_recipe(record, d);
  add_warnings(record, d);
  return d;
}

static std::function<int()> declare_show(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  add_files(command, *a, "Result file of a run")->expected(1);
  add_output_options(command, a->output);
  command.footer("Example: report show results/run.json");
  return [a] {
    NamedRun run{a->files[0], result::read_result(a->files[0])};
    label_machines({&run}, a->labels);
    print(show_run(run.record), a->output);
    return 0;
  };
}

const Command kShow = {"show", "Print one run for people (the default: report FILE)", declare_show};

}  // namespace ttt::reports
