#include "reports/html.h"

#include <algorithm>
#include <map>

#include "core/statistics.h"
#include "core/text.h"
#include "embedded_page.h"
#include "reports/ablations.h"
#include "reports/claims.h"
#include "reports/command_line.h"
#include "reports/effects.h"
#include "reports/groups.h"
#include "reports/machines.h"
#include "reports/numbers.h"
#include "reports/packed_text.h"
#include "reports/plots.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"
#include "reports/score.h"
#include "reports/show.h"
#include "result/provenance.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;
using Values = std::map<std::string_view, std::string>;

// A part of page.html: "{{{x}}}" stands for a value that is HTML, "{{x}}" for one that is a text and is escaped.
// One pass: what results say is not searched for braces.
std::string fill(const std::string& name, const Values& values) {
  const std::string mark = "<!-- piece " + name + " -->\n";
  std::string_view rest = kPageHtml.substr(kPageHtml.find(mark) + mark.size());
  rest = rest.substr(0, rest.find("<!-- piece "));
  std::string out;
  for (;;) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const bool raw = rest[begin + 2] == '{';
    const std::string_view end = raw ? "}}}" : "}}";
    rest.remove_prefix(begin + end.size());
    const std::string& value = values.at(rest.substr(0, rest.find(end)));
    out += raw ? value : html_escaped(value);
    rest.remove_prefix(rest.find(end) + end.size());
  }
}

// All inputs under names for people: a run has its machine and what differs, everything else its machine and its file.
std::string count(std::size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

struct Named {
  std::vector<NamedRun> all, reached, unreached;  // the last two: runs to a target, by whether they passed
  std::vector<BenchFile> benches;
};

Named named(const Inputs& inputs) {
  std::vector<std::string> files;
  for (const ResultFile& r : inputs.results) files.push_back(r.run.name);
  for (const BenchInput& b : inputs.benches) files.push_back(b.file.name);
  const std::vector<std::string> names = short_names(files);
  const auto machine = [](const RunRecord& r) {
    const std::int64_t n = ranks_of(r);  // 0: not known
    return machine_text(r) + (n > 0 ? ", " + count(static_cast<std::size_t>(n), "rank") : "");
  };
  const auto is_run = [](const RunRecord& r) { return r.kind == "time_to_target"; };
  // What stands in one plot is told apart: runs of a machine that reached the target, and those that did not.
  std::map<std::pair<std::string, bool>, std::vector<const RunRecord*>> runs;
  const auto passed = [](const RunRecord& r) { return r.verdict == result::Verdict::kPassed; };
  for (const ResultFile& r : inputs.results)
    if (is_run(r.run.record)) runs[{machine(r.run.record), passed(r.run.record)}].push_back(&r.run.record);
  Named n;
  std::map<std::string, int> uses;
  for (std::size_t i = 0; i < inputs.results.size(); ++i) {
    const RunRecord& r = inputs.results[i].run.record;
    const std::string who = machine(r), settings = is_run(r) ? what_differs(r, runs.at({who, passed(r)})) : "";
    std::string name = who + ": " + (settings.empty() ? names[i] : settings);
    if (uses[name]++ > 0) name += " (" + names[i] + ")";
    n.all.push_back({name, r});
    if (is_run(r)) (passed(r) ? n.reached : n.unreached).push_back(n.all.back());
  }
  for (std::size_t i = 0; i < inputs.benches.size(); ++i) {
    n.benches.push_back(inputs.benches[i].file);
    n.benches.back().name = names[inputs.results.size() + i];
  }
  return n;
}

Document overview(const std::vector<NamedRun>& runs) {
  if (runs.empty()) return {};
  Table t{.header = {"result", "system", "time to target", "epochs to target", "epochs to crossing",
              "images/s of a step", "verdict"},
      .right = {false, false, true, true, true, false}};
  for (const NamedRun& run : runs) {
    const TimeFactors f = time_factors(run.record);
    const std::vector<double> rates = step_rates(run.record);
    t.rows.push_back({run.name, system_text(run.record), f.reached ? seconds(f.time_to_target_s) : Cell("not reached"),
        f.reached && f.epochs > 0 ? number("%.2f", f.epochs) : Cell("-"),
        f.crossing ? number("%.2f", f.crossing->epochs.estimate) : Cell("-"),
        rates.empty() ? Cell("-") : number("%.2f", median(rates)),
        std::string(result::verdict_name(run.record.verdict))});
  }
  return {std::move(t)};
}

// A row for each machine: the first screen has no room for every run.
Document fastest(const std::vector<Machine>& machines) {
  Table t{.header = {"system", "runs", "time to target", "epochs to target", "images/s of a step"},
      .right = {false, true, true, true, true}};
  const auto over_runs = [](const Machine& m, const char* form, auto value) {
    std::vector<double> values;
    for (const RunRecord* r : m.passed)
      if (const double x = value(*r); x > 0) values.push_back(x);
    return values.empty() ? Cell("-") : centre_cell(form, centre(values));
  };
  for (const Machine& m : machines)
    if (!m.passed.empty())
      t.rows.push_back({m.name + (m.ranks > 0 ? ", " + count(static_cast<std::size_t>(m.ranks), "rank") : ""),
          std::to_string(m.passed.size()),
          over_runs(m, "%.1f s", [](const RunRecord& r) { return time_factors(r).time_to_target_s; }),
          over_runs(m, "%.2f", [](const RunRecord& r) { return time_factors(r).epochs; }),
          over_runs(m, "%.1f", [](const RunRecord& r) {
            const std::vector<double> rates = step_rates(r);
            return rates.empty() ? 0 : median(rates);
          })});
  return t.rows.empty() ? Document{} : Document{std::move(t)};
}

Document left_out(const Inputs& inputs) {
  if (inputs.left_out.empty()) return {};
  Table t{.header = {"file", "why it was left out"}};
  for (const LeftOut& l : inputs.left_out) t.rows.push_back({l.name, l.reason});
  return {std::move(t)};
}

std::string joined(const std::vector<std::string>& texts, const std::string& kind) {
  std::string out;
  for (const std::string& text : texts) out += fill("sentence", {{"kind", kind}, {"text", text}});
  return out;
}

constexpr std::size_t kHeld = 1'750'000;  // bytes of packed files in a page: it is to be sent by mail

class Page {
 public:
  // A part is left out where it has no body.
  void section(const std::string& id, const std::string& title, const std::string& body) {
    add("section", {{"id", id}, {"title", title}, {"body", body}});
  }
  void fold(const std::string& id, const std::string& title, const std::string& about, const std::string& body) {
    add("fold", {{"id", id}, {"title", title}, {"about", about}, {"body", body}});
  }

  std::string figures(const std::vector<Json>& plots) {
    std::string out;
    for (const Json& plot : plots) {
      if (plot.is_null()) continue;
      Values values = {{"index", std::to_string(plots_.size())}};
      for (const char* key : {"kind", "title", "about"}) values[key] = plot[key].get<std::string>();
      out += fill("figure", values);
      plots_.push_back(plot);
    }
    return out.empty() ? out : fill("figures", {{"figures", out}});
  }

  std::string text(const std::string& summary) const {
    std::string plots = result::dump(plots_, -1), safe;  // inside <script>, "<" is what could end it
    for (const char c : plots) c == '<' ? safe += "\\u003c" : safe += c;
    const std::string script(kPageScript);
    return fill("page", {{"csp", digest(script)}, {"style", std::string(kPageStyle)}, {"contents", contents_},
                            {"summary", summary}, {"plots", safe}, {"script", script}, {"body", body_}});
  }

 private:
  void add(const std::string& piece, const Values& values) {
    if (values.at("body").empty()) return;
    contents_ += fill("link", values);
    body_ += fill(piece, values);
  }
  // As a content security policy names a script that may run.
  static std::string digest(const std::string& script) {
    const std::string hex = result::sha256_hex(script);
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return std::string("'sha256-").append(base64(bytes)).append("'");
  }

  std::string body_, contents_;
  Json plots_ = Json::array();
};

// The files themselves, the smallest first as far as the page has room, in the order of the inputs. page.js unpacks
// them.
std::string raw(const Inputs& inputs) {
  struct File {
    std::string name, text, packed;
    bool is_held = false;
  };
  std::vector<File> files;
  for (const ResultFile& r : inputs.results) files.push_back({r.run.name, r.text, pack_text(r.text)});
  for (const BenchInput& b : inputs.benches) files.push_back({b.file.name, b.text, pack_text(b.text)});
  std::vector<File*> by_size;
  for (File& f : files) by_size.push_back(&f);
  std::ranges::stable_sort(by_size, {}, [](const File* f) { return f->packed.size(); });
  for (std::size_t left = kHeld; File * f : by_size) {
    if (f->packed.size() > left) break;
    f->is_held = true, left -= f->packed.size();
  }
  std::string out;
  for (const File& f : files)
    out += fill(f.is_held ? "file" : "large_file", {{"name", f.name}, {"digest", result::sha256_hex(f.text)},
                                                       {"bytes", std::to_string(f.text.size())}, {"packed", f.packed}});
  return out;
}

// Line by line: escaping makes a line break a space.
std::string method() {
  std::string lines;
  for (std::string_view rest = kPageMetrics; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    lines += html_escaped(std::string(rest.substr(0, rest.find('\n')))) + "\n";
  return fill("text", {{"text", lines}});
}

std::string reports(const Named& n, const Inputs& inputs) {
  std::string out;
  for (std::size_t i = 0; i < n.all.size(); ++i) {
    const RunRecord& r = n.all[i].record;
    Document d = show_run(r);
    std::ranges::move(comparison_blocks(r), std::back_inserter(d));
    out += fill(
        "result", {{"name", n.all[i].name}, {"verdict", std::string(result::verdict_name(r.verdict))}, {"kind", r.kind},
                      {"file", inputs.results[i].run.name}, {"body", render_html(d, n.all[i].name)}});
  }
  return out;
}

// Who is faster, how long the fastest took, what is worth most, and how our operations do against others'; the folds
// say more.
std::vector<std::string> answers(
    const MachineFacts& facts, const Effects& worth, const std::vector<BenchFile>& benches) {
  std::vector<std::string> sentences;
  if (!facts.answers.empty()) sentences.push_back(facts.answers[0]);
  const auto m = std::find_if(
      facts.machines.begin(), facts.machines.end(), [](const Machine& machine) { return !machine.passed.empty(); });
  if (m != facts.machines.end()) {
    std::vector<double> times;
    for (const RunRecord* r : m->passed) times.push_back(time_factors(*r).time_to_target_s);
    sentences.push_back(m->name + ": time to target " + centre_cell("%.1f s", centre(times)).text + ", " +
                        count(times.size(), "run") + " on " + count(static_cast<std::size_t>(m->ranks), "rank") + ".");
  }
  if (!worth.answer.empty()) sentences.push_back(worth.answer);
  for (const BenchFile& file : benches)
    if (const std::string text = bench_answer(file); !text.empty()) sentences.push_back(file.name + ": " + text);
  return sentences;
}

// Of the runs six at a time: more cannot be told apart in one plot.
std::string step_figures(Page& page, const std::vector<NamedRun>& runs) {
  constexpr std::size_t kInOnePlot = 6;
  std::string out;
  for (std::size_t i = 0; i < runs.size(); i += kInOnePlot)
    out += page.figures(step_plots({runs.begin() + static_cast<std::ptrdiff_t>(i),
        runs.begin() + static_cast<std::ptrdiff_t>(std::min(runs.size(), i + kInOnePlot))}));
  return out;
}

void add_measurements(Page& page, const Named& n, const Effects& worth) {
  page.fold("other-ranks", "Techniques with other numbers of ranks", "", page.figures({worth.other_ranks}));
  page.fold("self-tests", "Does the measuring work?", "repetitions of what is known: nothing, or a planted cost",
      page.figures(worth.self_tests));
  page.fold("not-to-target", "Not to a target", count(n.unreached.size(), "run") + ", no part of any comparison",
      render_html(overview(n.unreached), "Not to a target") + page.figures(accuracy_plots(n.unreached)) +
          step_figures(page, n.unreached));
}

}  // namespace

std::string html_page(const Inputs& inputs) {
  const Named n = named(inputs);
  const Effects worth = effects(n.all);
  const MachineFacts facts = machine_facts(n.all);
  Page page;
  page.section("left-out", "Left out", render_html(left_out(inputs), "Left out"));
  const std::vector<Json> times = time_plots(n.reached);
  const bool techniques_first = !worth.steps.is_null();
  page.section("answer", "In short",
      joined(answers(facts, worth, n.benches), "answer") + joined(facts.disagreements, "note") +
          page.figures(techniques_first ? std::vector{worth.steps} : times) +
          render_html(fastest(facts.machines), "Runs that reached the target") + joined(worth.folded, "about"));
  page.section("operations", "Single operations", page.figures({worth.operations}));
  page.section("time", "Time to target",
      page.figures(techniques_first ? times : std::vector<Json>()) + page.figures(accuracy_plots(n.reached)));
  page.section("steps", "Time of a step", step_figures(page, n.reached));
  add_measurements(page, n, worth);
  if (facts.machines.size() > 1)
    page.fold("machines", "Machines", "ceilings, and what makes them differ", render_html(machines(n.all), "Machines"));
  if (inputs.ledger) {
    Document verdicts = claims(*inputs.ledger, n.all, true);
    verdicts.erase(verdicts.begin());  // the answer, which the fold's title has
    page.fold("claims", "Published claims", claims_answer(judge(*inputs.ledger, n.all)),
        page.figures(published_plots(inputs.ledger->published, n.all)) + render_html(verdicts, "Published claims"));
  }
  // as `report score`: a run that failed before its first step counts
  if (has_score(n.all)) page.fold("score", "Scores of several runs", "", render_html(score(n.all), "Scores"));
  if (n.reached.size() > 1)
    page.fold("comparison", "Runs side by side", "factors, ratios, settings",
        render_html(overview(n.reached), "Runs to the target") + render_html(compare(n.reached), "Runs"));
  page.fold("micro", "Micro-benchmarks", count(n.benches.size(), "file"), render_html(bench(n.benches), "Micro"));
  page.fold("reports", "Each result", "every comparison and its counters too", reports(n, inputs));
  page.fold("raw", "Raw results", "files to the byte: give them to report again", raw(inputs));
  page.fold("method", "How every number is derived", "METRICS.md of the report that made this page", method());
  std::string summary = count(n.all.size(), "result");
  if (!n.benches.empty()) summary += ", " + count(n.benches.size(), "file") + " of micro-benchmarks";
  if (!inputs.left_out.empty()) summary += ", " + std::to_string(inputs.left_out.size()) + " left out";
  return page.text(summary + ". Made by report " + result::version_text() + ".");
}

static std::function<int()> declare_html(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::string out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  add_files(command, *a,
      "Files of any mix, and folders of them: results of runs and of ablate, output of micro --benchmark_format=json");
  command.add_option("--out", a->out, "Page to write")->required();
  command.add_flag("--force", a->force, "Replace it where it exists");
  command.footer(
      "One file that opens in any browser, without a network: which machine is faster and what techniques are worth,\n"
      "then accuracy and step times, and in folds each result, runs side by side (the first one named is what the\n"
      "others are compared with), and the files themselves to download.\n"
      "A file that was truncated or edited is left out; the page and stderr say so, and the exit code is not 0.\n\n"
      "Example: report html results micro.json --out page.html");
  return [a] {
    const Inputs all = read_files(*a);
    write_page(a->out, html_page(all), a->force);
    return all.exit_code();
  };
}

const Command kHtml = {"html", "One page with all results, plots and raw data, to open in a browser", declare_html};

}  // namespace ttt::reports
