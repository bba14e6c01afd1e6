#include "reports/html.h"

#include <algorithm>
#include <map>

#include "core/statistics.h"
#include "core/text.h"
#include "embedded_page.h"
#include "reports/ablations.h"
#include "reports/command_line.h"
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

// All inputs with names short enough for a plot; runs to a target apart from the rest.
struct Named {
  std::vector<NamedRun> all, runs;
  std::vector<BenchFile> benches;
};
Named named(const Inputs& inputs) {
  std::vector<std::string> files;
  for (const ResultFile& r : inputs.results) files.push_back(r.run.name);
  for (const BenchInput& b : inputs.benches) files.push_back(b.file.name);
  const std::vector<std::string> names = short_names(files);
  Named n;
  for (std::size_t i = 0; i < inputs.results.size(); ++i) {
    n.all.push_back({names[i], inputs.results[i].run.record});
    if (n.all.back().record.steps.size() > 0 || !n.all.back().record.accuracy.empty()) n.runs.push_back(n.all.back());
  }
  for (std::size_t i = 0; i < inputs.benches.size(); ++i) {
    n.benches.push_back(inputs.benches[i].file);
    n.benches.back().name = names[inputs.results.size() + i];
  }
  return n;
}

Cell known(double x, Cell cell) { return x > 0 ? cell : Cell("-"); }
Cell best_of(const RunRecord& r, const std::string& metric) {
  double best = -1;
  for (const result::Evaluation& e : r.accuracy)
    if (const double* value = result::find(e.metrics, metric)) best = std::max(best, *value);
  return best < 0 ? Cell("-") : number("%.4f", best);
}

// Runs that passed, and measurements without a target, by which machines are judged; or the runs that did not come to a
// target.
bool is_judged(const RunRecord& r) { return r.verdict == result::Verdict::kPassed || r.kind != "time_to_target"; }

Document overview(const Named& n, bool judged) {
  Table t{.header = {"result", "verdict", "time to target", "epochs to target", "time per epoch", "training",
              "evaluation", "start-up", "images/s of a step"}};
  std::vector<std::string> metrics;
  for (const NamedRun& run : n.all)
    for (const std::string& name : headline_metrics(run.record))
      if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
  for (const std::string& name : metrics) t.header.add_data("best " + result::metric_title(name));
  t.right.assign(t.header.names().size(), true);
  t.right[0] = t.right[1] = false;
  for (const char* label : {"system", "commit", "recipe", "kind"}) t.header.add_data(label);
  for (const NamedRun& run : n.all) {
    const RunRecord& r = run.record;
    if (is_judged(r) != judged) continue;
    const TimeFactors f = time_factors(r);
    const bool trained = r.steps.size() > 0;
    const Cell unreached = trained ? "not reached" : "-";
    const std::vector<double> rates = step_rates(r);
    t.rows.push_back(
        {run.name, std::string(result::verdict_name(r.verdict)), f.reached ? seconds(f.time_to_target_s) : unreached,
            f.reached ? known(f.epochs, number("%.2f", f.epochs)) : unreached, known(f.epoch_s, seconds(f.epoch_s)),
            trained ? seconds(f.training_s) : Cell("-"), r.accuracy.empty() ? Cell("-") : seconds(f.evaluation_s),
            known(f.startup_s, seconds(f.startup_s)), rates.empty() ? Cell("-") : number("%.2f", median(rates))});
    for (const std::string& metric : metrics) t.rows.back().push_back(best_of(r, metric));
    for (const std::string& text : {system_text(r), commit_text(r), r.recipe.name, r.kind})
      t.rows.back().push_back(text);
  }
  for (const BenchFile& b : judged ? n.benches : std::vector<BenchFile>()) {
    Row row = {b.name};
    row.resize(t.header.names().size(), Cell("-"));
    row[9 + metrics.size()] = text_at(b.context, "num_cpus") + " CPUs";
    row.back() = "micro-benchmarks";
    t.rows.push_back(std::move(row));
  }
  return t.rows.empty() ? Document() : Document{std::move(t)};
}

Document left_out(const Inputs& inputs) {
  if (inputs.left_out.empty()) return {};
  Table t{.header = {"file", "why it was left out"}};
  for (const LeftOut& l : inputs.left_out) t.rows.push_back({l.name, l.reason});
  return {std::move(t)};
}

constexpr std::size_t kLargestEmbedded = std::size_t{32} << 20;  // bytes of a file that the page holds

class Page {
 public:
  void section(const std::string& id, const std::string& title, const std::vector<Json>& plots, const Document& tables,
      bool folded = false) {
    if (plots.empty() && tables.empty()) return;
    open(id, title);
    if (!plots.empty()) body_ += "<div class=\"plots\">\n";
    for (const Json& plot : plots) {
      const std::string name = html_escaped(plot["title"].get<std::string>());
      body_ += "<figure class=\"" + plot["kind"].get<std::string>() + "\"><figcaption>" + name +
               "</figcaption><div class=\"plot\"><canvas role=\"img\" data-plot=\"" + std::to_string(plots_.size()) +
               "\" aria-label=\"" + name + ". " + html_escaped(plot["about"].get<std::string>()) +
               "\"></canvas></div></figure>\n";
      plots_.push_back(plot);
    }
    if (!plots.empty()) body_ += "</div>\n";
    const std::string text = render_html(tables, title);
    body_ += (folded ? "<details><summary>" + html_escaped(title) + "</summary>\n" + text + "</details>\n" : text) +
             "</section>\n";
  }

  void reports(const Named& n, const Inputs& inputs) {
    if (n.all.empty()) return;
    open("reports", "Each result");
    for (std::size_t i = 0; i < n.all.size(); ++i)
      body_ += "<details><summary>" + html_escaped(n.all[i].name) + ": " +
               html_escaped(std::string(result::verdict_name(n.all[i].record.verdict))) + " <span class=\"about\">" +
               html_escaped(inputs.results[i].run.name) + "</span></summary>\n" +
               render_html(show_run(n.all[i].record), n.all[i].name) + "</details>\n";
    body_ += "</section>\n";
  }

  // The files themselves; page.js unpacks them.
  void raw(const Inputs& inputs) {
    open("raw", "Raw results");
    body_ +=
        "<p>Every file that this page was made of, to the byte: compare with the SHA-256, or give it to "
        "<code>report</code> again.</p>\n";
    const auto add = [&](const std::string& file, const std::string& text) {
      const std::string name = html_escaped(file), digest = result::sha256_hex(text);
      if (text.size() > kLargestEmbedded) {
        body_ += "<p>" + name + ": " + std::to_string(text.size()) + " bytes, SHA-256 <code>" + digest +
                 "</code>: too large to be held by this page.</p>\n";
        return;
      }
      body_ += "<details class=\"raw\" data-name=\"" + name + "\" data-sha256=\"" + digest + "\"><summary>" + name +
               "</summary>\n<p class=\"about\">" + std::to_string(text.size()) + " bytes, SHA-256 <code>" + digest +
               "</code></p>\n<p><button type=\"button\" disabled>Download</button> <span class=\"state\">needs "
               "JavaScript</span></p><pre tabindex=\"0\"></pre>" +
               "<script type=\"text/plain\">" + pack_text(text) + "</script></details>\n";
    };
    for (const ResultFile& r : inputs.results) add(r.run.name, r.text);
    for (const BenchInput& b : inputs.benches) add(b.file.name, b.text);
    body_ += "</section>\n";
  }

  void method() {
    open("method", "How every number is derived");
    body_ += "<details><summary>METRICS.md of the report that made this page</summary><pre class=\"wrap\">" +
             escaped_lines(kPageMetrics) + "</pre></details></section>\n";
  }

  std::string text(const std::string& summary) const {
    std::string plots = result::dump(plots_, -1), safe;  // inside <script>, "<" is what could end it
    for (const char c : plots) c == '<' ? safe += "\\u003c" : safe += c;
    const std::string chart(kPageChart), script(kPageScript);
    const std::map<std::string_view, std::string> values = {{"csp", digest(chart) + " " + digest(script)},
        {"style", std::string(kPageStyle)}, {"contents", contents_}, {"summary", html_escaped(summary)},
        {"plots", safe}, {"chart", chart}, {"script", script}, {"body", body_}};
    std::string page;
    for (std::string_view rest = kPageHtml; !rest.empty();) {  // one pass: what results say is not searched for "{{"
      const std::size_t begin = rest.find("{{"), end = rest.find("}}", begin);
      page += rest.substr(0, begin);
      if (begin == std::string_view::npos) break;
      page += values.at(rest.substr(begin + 2, end - begin - 2));
      rest.remove_prefix(end + 2);
    }
    return page;
  }

 private:
  void open(const std::string& id, const std::string& title) {
    contents_ += "<li><a href=\"#" + id + "\">" + html_escaped(title) + "</a></li>";
    body_ += "<section id=\"" + id + "\">\n<h2>" + html_escaped(title) + "</h2>\n";
  }
  static std::string escaped_lines(std::string_view text) {
    std::string out;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      out += html_escaped(std::string(text.substr(begin, end - begin))) + "\n";
      begin = end + 1;
    }
    return out;
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

std::string count(std::size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace

std::string html_page(const Inputs& inputs) {
  const Named n = named(inputs);
  std::vector<NamedRun> ablated;
  for (const NamedRun& r : n.all)
    if (!r.record.comparisons.empty() || !r.record.convergence.empty()) ablated.push_back(r);
  Page page;
  page.section("left-out", "Left out", {}, left_out(inputs));
  page.section("overview", "All results", time_plots(n.runs), overview(n, true));
  page.section("not-to-target", "Not to a target", {}, overview(n, false), /*folded=*/true);
  // as `report score`: a run that failed before its first step counts
  page.section("score", "Scores of several runs", {}, has_score(n.all) ? score(n.all) : Document());
  page.section("accuracy", "Accuracy", accuracy_plots(n.runs), {});
  page.section("steps", "Time of a step", step_plots(n.runs), {});
  page.section(
      "ablations", "What techniques are worth", ablation_plots(ablated), ablations(ablated, {.details = true}));
  std::vector<NamedRun> to_target;
  for (const NamedRun& r : n.runs)
    if (r.record.kind == "time_to_target") to_target.push_back(r);
  page.section("comparison", "Runs side by side", {}, to_target.size() > 1 ? compare(to_target) : Document());
  page.section("micro", "Micro-benchmarks", {}, bench(n.benches));
  page.reports(n, inputs);
  page.raw(inputs);
  page.method();
  return page.text(count(n.all.size(), "result") + ", " + count(n.benches.size(), "file") + " of micro-benchmarks, " +
                   std::to_string(inputs.left_out.size()) + " left out. Made by report " + result::version_text() +
                   ".");
}

static std::function<int()> declare_html(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> files;
    std::string out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .add_option("files", a->files,
          "Files of any mix, and folders of them: results of runs and of ablate, output of micro "
          "--benchmark_format=json")
      ->required();
  command.add_option("--out", a->out, "Page to write")->required();
  command.add_flag("--force", a->force, "Replace it where it exists");
  command.footer(
      "One file that opens in any browser, without a network: all results in a table that sorts by a click, accuracy "
      "over time and epochs, step times,\n"
      "effects of ablations, runs side by side (the first one named is what the others are compared with), and the "
      "files themselves to download.\n"
      "A file that was truncated or edited is left out; the page and stderr say so, and the exit code is not 0.\n\n"
      "Example: report html results micro.json --out page.html");
  return [a] {
    const Inputs all = read_inputs(a->files);
    name_left_out(all);
    write_page(a->out, html_page(all), a->force);
    return all.exit_code();
  };
}

const Command kHtml = {"html", "One page with all results, plots and raw data, to open in a browser", declare_html};

}  // namespace ttt::reports
