#include "reports/score.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/numbers.h"
#include "reports/rcp.h"

namespace ttt::reports {
namespace {

Cell time_cell(double s) { return std::isinf(s) ? Cell("not reached") : seconds(s); }
Cell whole_cell(const Attempt& a) {
  return !a.reached() ? Cell("not reached") : a.whole_s ? seconds(*a.whole_s) : Cell("-");
}
Cell minutes_cell(double s) { return std::isinf(s) ? Cell("not reached") : number("%.2f", s / 60); }
Cell optional_cell(const char* pattern, const std::optional<double>& x) { return x ? number(pattern, *x) : Cell("-"); }

std::vector<double> times(const Series& s) {
  std::vector<double> all;
  for (const Attempt& a : s.attempts) all.push_back(a.run_s);
  return all;
}

// Of the attempts that count; nothing where one of them does not say.
std::optional<double> mean_of(const Series& s, const Window& w, std::optional<double> Attempt::*member) {
  double total = 0;
  for (std::size_t i = 0; i < s.attempts.size(); ++i) {
    if (!w.counts(i)) continue;
    if (!(s.attempts[i].*member)) return std::nullopt;
    total += *(s.attempts[i].*member);
  }
  return total / static_cast<double>(kScoredRuns - 2);
}

const char* counts_text(std::size_t i, const std::optional<Window>& w) {
  if (!w) return "no score";
  if (i < w->begin || i >= w->begin + kScoredRuns) return "no: not of the five";
  return i == w->fastest ? "no: the fastest" : i == w->slowest ? "no: the slowest" : "yes";
}

Table rows_of(const Series& s, const std::optional<Window>& w) {
  Table t{.header = {"result", "verdict", "seed", "epochs to target", "epochs trained", "start to stop",
              "time to target", "counts"},
      .right = {false, false, true, true, true, true, true, false}};
  std::vector<std::size_t> order(s.attempts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(s.attempts[a].run_s, s.attempts[a].name) < std::pair(s.attempts[b].run_s, s.attempts[b].name);
  });
  for (const std::size_t i : order) {
    const Attempt& a = s.attempts[i];
    t.rows.push_back({a.name, a.verdict, a.seed, a.reached() ? optional_cell("%.2f", a.epochs) : Cell("-"),
        optional_cell("%.2f", a.epochs), time_cell(a.run_s), whole_cell(a), counts_text(i, w)});
  }
  return t;
}

Table score_of(const Series& s, const Window& w) {
  Table t{.header = {"", "start to stop", "time to target", "minutes"}, .right = {false, true, true, true}};
  // One set of runs is in both means: that of MLPerf's clock, by which fastest and slowest are found.
  const std::optional<double> whole_mean = mean_of(s, w, &Attempt::whole_s);
  t.add("Olympic mean", {seconds(w.mean_s), whole_mean ? seconds(*whole_mean) : Cell("-"), minutes_cell(w.mean_s)});
  const std::vector<double> clock = times(s);
  std::vector<double> whole;
  for (const Attempt& a : s.attempts) whole.push_back(a.reached() ? a.whole_s.value_or(std::nan("")) : kNever);
  const bool whole_known = std::none_of(whole.begin(), whole.end(), [](double x) { return std::isnan(x); });
  const auto add = [&](Label name, auto&& value) {
    t.add(
        name, {time_cell(value(clock)), whole_known ? time_cell(value(whole)) : Cell("-"), minutes_cell(value(clock))});
  };
  const auto least = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  const auto most = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  add("median", [](const std::vector<double>& v) {
    std::vector<double> sorted = v;  // quantile() would take infinity - infinity
    std::sort(sorted.begin(), sorted.end());
    const double low = sorted[(v.size() - 1) / 2], high = sorted[v.size() / 2];
    return std::isinf(high) ? high : (low + high) / 2;
  });
  add("fastest", least), add("slowest", most);
  const auto range = [&](const std::vector<double>& v, const std::optional<double>& mean) {
    const double share = mean ? (most(v) - least(v)) / *mean : kNever;
    return std::isfinite(share) ? percent(share) : Cell("-");
  };
  t.add("spread", {range(clock, w.mean_s), whole_known ? range(whole, whole_mean) : Cell("-"), ""});
  return t;
}

// Whether the runs needed suspiciously few epochs, and the score that the rules make of it.
std::optional<Table> convergence_of(const Series& s, const Window& w) {
  if (!s.no_reference.empty() || !s.global_batch) return std::nullopt;
  std::vector<double> epochs;
  for (std::size_t i = w.begin; i < w.begin + kScoredRuns; ++i)
    epochs.push_back(s.attempts[i].rated_epochs.value_or(kNever));
  if (std::count(epochs.begin(), epochs.end(), kNever) > 1) return std::nullopt;
  const RcpResult r = compare_with_reference(*s.global_batch, epochs);
  Table t{.header = {"", "epochs", ""}, .right = {false, true, false}, .headless = true};
  t.add("mean epochs", {number("%.3f", r.mean_epochs), ""});
  if (r.verdict != RcpVerdict::kNoReference) {
    t.add("reference epochs", {number("%.3f", r.reference.mean), r.how});
    t.add("least accepted epochs", {number("%.3f", r.reference.least), ""});
  }
  t.add("convergence", {rcp_verdict_name(r.verdict), ""});
  if (r.verdict == RcpVerdict::kPass || r.verdict == RcpVerdict::kNormalised) {
    t.add("normalisation", {number("%.4f", r.factor), ""});
    t.add("normalised minutes", {minutes_cell(w.mean_s * r.factor), ""});
  }
  return t;
}

void add_series(const Series& s, Document& d) {
  d.push_back(Heading{s.title});
  const std::optional<Window> w = score_window(s);
  if (w) {
    d.push_back(score_of(s, *w));
  } else if (s.attempts.size() < kScoredRuns) {
    d.push_back(Paragraph{s.too_few.empty() ? too_few_text(s.attempts.size()) : s.too_few});
  } else {
    const auto never =
        std::count_if(s.attempts.begin(), s.attempts.end(), [](const Attempt& a) { return !a.reached(); });
    d.push_back(Paragraph{"No score: " + std::to_string(never) + " of " + std::to_string(s.attempts.size()) +
                          " runs did not reach the target, and only one may be dropped as the slowest."});
  }
  d.push_back(rows_of(s, w));
  if (!w) return;
  if (auto t = convergence_of(s, *w)) d.push_back(std::move(*t));
  else
    d.push_back(Paragraph{"Not compared with MLPerf's reference convergence points: " +
                          (s.no_reference.empty() ? "the global batch is unknown" : s.no_reference) + "."});
}

std::string kind_text(const NamedRun& r) {
  return r.name + " (" + r.record.kind + ", " + std::string(result::verdict_name(r.record.verdict)) + ")";
}

// The published systems below ours, the fastest first.
void add_published(std::vector<Series> own, std::vector<Series> published, Document& d) {
  std::stable_sort(published.begin(), published.end(), [](const Series& a, const Series& b) {
    const auto score_s = [](const Series& s) {
      const auto w = score_window(s);
      return w ? w->mean_s : kNever;
    };
    return score_s(a) < score_s(b);
  });
  own.insert(own.end(), published.begin(), published.end());
  d.push_back(Heading{"Beside published results"});
  d.push_back(beside(own));
  d.push_back(
      Paragraph{"Published results were reviewed by MLCommons; what this suite measured was not. Runs of other data, "
                "models and rules do not compare."});
}

}  // namespace

Table beside(const std::vector<Series>& all) {
  Table t{.header = {"system", "accelerators", "", "global batch", "runs", "minutes", "epochs", "images/s",
              "images/s per accelerator"},
      .right = {false, true, false, true, true, true, true, true, true}};
  for (const Series& s : all) {
    const auto w = score_window(s);
    const Attempt* one = s.attempts.size() == 1 ? &s.attempts[0] : nullptr;
    const auto value = [&](std::optional<double> Attempt::*member) {
      return w ? mean_of(s, *w, member) : one ? one->*member : std::nullopt;
    };
    const std::optional<double> rate = value(&Attempt::images_per_s);
    t.rows.push_back({s.system, optional_cell("%.0f", s.accelerators), s.accelerator.empty() ? "-" : s.accelerator,
        optional_cell("%.0f", s.global_batch), whole(static_cast<std::int64_t>(s.attempts.size())),
        w     ? minutes_cell(w->mean_s)
        : one ? minutes_cell(one->run_s)
              : Cell("no score"),
        optional_cell("%.2f", value(&Attempt::epochs)), optional_cell("%.1f", rate),
        rate && s.accelerators ? number("%.1f", *rate / *s.accelerators) : Cell("-")});
  }
  return t;
}

bool has_score(const std::vector<NamedRun>& runs) {
  const auto all = series_of_runs(runs);
  return std::any_of(all.begin(), all.end(), [](const Series& s) { return score_window(s).has_value(); });
}

Document score(const std::vector<NamedRun>& runs) {
  return score(ScoreInputs{.runs = runs, .logs = {}, .published = {}});
}

Document score(const ScoreInputs& in) {
  Document d;
  std::vector<Series> own = series_of_runs(in.runs);
  for (Series& s : series_of_logs(in.logs)) own.push_back(std::move(s));
  for (const Series& s : own) add_series(s, d);
  std::string others;
  for (const NamedRun& r : in.runs)
    if (!is_attempt(r.record)) others += (others.empty() ? "" : ", ") + kind_text(r);
  if (!others.empty()) d.push_back(Paragraph{"Not runs to a target, so not counted: " + others + "."});
  if (!in.published.empty()) add_published(std::move(own), in.published, d);
  return d;
}

Document beside_published(const ScoreInputs& in) {
  Document d;
  std::vector<Series> own;
  const auto add = [&](std::vector<Series> series, const std::string& name) {
    for (Series& s : series) {
      s.system = name + ": " + s.system;
      own.push_back(std::move(s));
    }
  };
  for (const NamedRun& r : in.runs) {
    add(series_of_runs({r}), r.name);
    if (!is_attempt(r.record)) d.push_back(Paragraph{"No run to a target, so not in the table: " + kind_text(r) + "."});
  }
  for (const NamedLog& l : in.logs) add(series_of_logs({l}), l.name);
  add_published(std::move(own), in.published, d);
  return d;
}

static std::function<int()> declare_score(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  add_files(command, *a,
      "Results of runs to a target, or MLPerf logs, five or more of each system; results/published/*.json stands "
      "beside them");
  add_output_options(command, a->output);
  command.footer(
      "The score is MLPerf's: the mean time to target of five runs without the fastest and the slowest. One of the "
      "five may have missed the target; it is the\n"
      "slowest then. Of more than five runs, the five consecutive in time count whose score is the median of all such "
      "fives. Runs of the closed division, logs and\n"
      "published results are compared with MLPerf's reference convergence points: too few epochs fail, few ones are "
      "normalised. The score is in minutes in the\n"
      "last column; reports/METRICS.md derives every number.\n\n"
      "Example: report score seed1.json seed2.json seed3.json seed4.json seed5.json\n"
      "         report score result_*.txt\n"
      "         report score mine/*.json results/published/mlperf_v3.0_maskrcnn.json");
  return [a] {
    const Mixed all = read_mixed(*a);
    print(score(all.inputs), a->output);
    return all.exit_code;
  };
}

const Command kScore = {"score",
    "One number for several runs of a system: the Olympic mean of five times to target, as MLPerf's; published results "
    "beside it",
    declare_score};

}  // namespace ttt::reports
