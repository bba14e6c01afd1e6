// What holds of every report. The order of files does not matter where no file is the first among them, units are kept,
// and what is missing never becomes a zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/rng.h"
#include "core/statistics.h"
#include "reports/ablations.h"
#include "reports/accuracy.h"
#include "reports/compare.h"
#include "reports/group_compare.h"
#include "reports/html.h"
#include "reports/numbers.h"
#include "reports/plots.h"
#include "reports/scaling.h"
#include "reports/score.h"
#include "reports/show.h"
#include "reports/timeline.h"
#include "result/result_file.h"
#include "tests/reports/lines.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;

RunRecord random_run(std::uint64_t n) {
  RunRecord r = test::toy_record();
  r.provenance["dirty"] = false;
  r.recipe.settings["seed"] = n;
  r.built["global_batch"] = 16, r.built["threads_per_rank"] = 1;
  r.data["train_sha256"] = "one";
  r.trace = test::toy_trace();
  Stream random(random_bits(n, Purpose::kTest, 7));
  r.steps.truncate(0);
  for (std::int64_t i = 0; i < 40; ++i) {
    result::StepSample s = test::toy_step(i);
    const double scale = std::exp2(random.uniform(-20, 3));
    for (double& p : s.phase_s) p *= scale;
    s.step_s *= scale * random.uniform(1, 1.5);
    r.steps.add(s);
  }
  r.steps.step_ranks = "max", r.steps.phase_ranks = r.steps.loss_ranks = "mean";
  r.accuracy[1].wall_s = random.uniform(3, 60);
  return r;
}

template <class T> void shuffle(std::vector<T>& list, std::uint64_t seed) {
  Stream random(random_bits(seed, Purpose::kTest, 8));
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
}

std::multiset<std::string> lines(const std::string& text) {
  std::multiset<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.insert(line);
  return all;
}

TEST(Property, FileOrder_DoesNotMatter) {
  std::vector<NamedRun> runs;
  for (std::uint64_t n = 0; n < 7; ++n) runs.push_back({"run" + std::to_string(n), random_run(n)});
  runs[5].record.system["world_size"] = 77;  // a group of its own
  const std::string first = render_text(score(runs), 200);
  std::multiset<std::string> plots;
  for (const Json& p : accuracy_plots(runs))
    for (const Json& s : p["series"]) plots.insert(s.dump());
  const std::vector<Json> steps = step_plots(runs);
  for (const Json& s : steps[0]["rows"]) plots.insert(s.dump());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    shuffle(runs, seed);
    EXPECT_EQ(render_text(score(runs), 200), first) << seed;
    std::multiset<std::string> again;
    for (const Json& p : accuracy_plots(runs))
      for (const Json& s : p["series"]) again.insert(s.dump());
    const std::vector<Json> steps_again = step_plots(runs);
    for (const Json& s : steps_again[0]["rows"]) again.insert(s.dump());
    EXPECT_EQ(again, plots) << seed;
  }
  NamedRun a{"a", test::toy_ablation()}, b{"b", test::toy_ablation()};
  b.record.comparisons[0].ablation = "other";
  for (double& s : b.record.comparisons[0].samples.variant_s) s *= 2;
  EXPECT_EQ(lines(render_text(ablations({a, b}, {.details = true}), 200)),
      lines(render_text(ablations({b, a}, {.details = true}), 200)));
}

TEST(Property, PrintedTime_IsTheSample) {
  Stream random(random_bits(1, Purpose::kTest, 9));
  const std::map<std::string, double> units = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  for (int i = 0; i < 5000; ++i) {
    const double s = std::exp2(random.uniform(-30, 12));
    const Cell cell = short_seconds(s);
    EXPECT_EQ(cell.values, std::vector<double>{s});
    EXPECT_EQ(cell.unit, "s");
    std::istringstream in(cell.text);
    double value = 0;
    std::string unit;
    ASSERT_TRUE(in >> value >> unit) << cell.text;
    EXPECT_NEAR(value * units.at(unit), s, 0.00501 * s) << cell.text;  // three digits
  }
}

TEST(Property, MedianMilliseconds_AreSecondsTimesThousand) {
  for (std::uint64_t n = 0; n < 20; ++n) {
    const RunRecord a = random_run(n), b = random_run(n + 100);
    const Table t = std::get<Table>(compare({{"a", a}, {"b", b}})[3]);
    const auto row = std::find_if(
        t.rows.begin(), t.rows.end(), [](const Row& r) { return r[0].text == "time of a step, median [ms]"; });
    ASSERT_NE(row, t.rows.end());
    EXPECT_EQ((*row)[1].values, std::vector<double>{1e3 * median(a.steps.step_s)});
    EXPECT_EQ((*row)[2].values, std::vector<double>{1e3 * median(b.steps.step_s)});
    const Document shown = show_run(a);
    for (const Block& block : shown)
      if (const auto* table = std::get_if<Table>(&block))
        for (const Row& r : table->rows)
          if (r[0].text == "backward") { EXPECT_EQ(r[1].values, std::vector<double>{median(a.steps.phase_s[2])}); }
  }
}

// Runs of random lengths over steps whose times span seven orders of magnitude.
TEST(Property, PairwiseRatio_InItsInterval) {
  for (std::uint64_t n = 0; n < 200; ++n) {
    RunRecord a = random_run(n), b = random_run(n + 1000);
    b.recipe.settings["seed"] = a.recipe.settings["seed"];
    b.steps.truncate(24 + n % 16);
    const Table t = std::get<Table>(compare({{"a", a}, {"b", b}})[3]);
    const auto row = [&](const std::string& name) {
      return *std::find_if(t.rows.begin(), t.rows.end(), [&](const Row& r) { return r[0].text == name; });
    };
    const std::vector<double> ratio = row("time of a step, median [ms]")[3].values,
                              interval = row("95 % interval of its ratio")[3].values;
    ASSERT_EQ(interval.size(), 2u);
    EXPECT_LE(interval[0], ratio.at(0)) << n;
    EXPECT_GE(interval[1], ratio.at(0)) << n;
  }
}

bool is_zero(const std::string& number) {
  char* end = nullptr;
  return !number.empty() && std::strtod(number.c_str(), &end) == 0 && *end == '\0';
}

// Whether a text has a number that is zero. "null against 0" is the other file's, and "exclude 0" states no number.
bool has_zero(std::string text) {
  if (const std::size_t at = text.find("exclude 0"); at != std::string::npos) text.erase(at, 9);
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    while (!word.empty() && std::string(",;:.%()").find(word.back()) != std::string::npos) word.pop_back();
    if (is_zero(word)) return text.find("null") == std::string::npos;
  }
  return false;
}

struct HtmlCell {
  std::string text, number;
};
std::vector<HtmlCell> cells(const std::string& line) {
  std::vector<HtmlCell> out;
  for (std::size_t at = 0; (at = line.find("<t", at)) != std::string::npos;) {
    const std::size_t close = line.find('>', at);
    const std::string tag = line.substr(at, close - at);
    at = close;
    if (tag != "<th" && tag != "<td" && !tag.starts_with("<th ") && !tag.starts_with("<td ")) continue;
    std::string text = line.substr(close + 1, line.find("</t", close) - close - 1);
    for (std::size_t inner; (inner = text.find('<')) != std::string::npos;)
      text.erase(inner, text.find('>', inner) - inner + 1);
    const std::size_t v = tag.find("data-v=\"");
    out.push_back({text, v == std::string::npos ? "" : tag.substr(v + 8, tag.find('"', v + 8) - v - 8)});
  }
  return out;
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out = {""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) out.emplace_back();
    else if (c != '\r') out.back() += c;
  }
  return out;
}

// What reports print, cell by cell, so that a zero that goes does not hide one that comes.
struct Printed {
  std::map<std::string, std::size_t> zeros;  // by report, row and column
  std::set<std::string> ranks;               // what columns of ranks say
  std::string refusal;

  void add_html(const std::string& report, const std::string& html) {
    std::istringstream in(html);
    std::vector<HtmlCell> header;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("<thead")) header = cells(line);
      if (line.starts_with("<p>") && has_zero(line.substr(3, line.find("</p>") - 3)))
        ++zeros[report + "|" + line.substr(0, 16)];
      if (!line.starts_with("<tr>")) continue;
      const std::vector<HtmlCell> row = cells(line);
      ASSERT_EQ(row.size(), header.size()) << line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (row[c].number.empty() ? has_zero(row[c].text) : is_zero(row[c].number))
          ++zeros[report + "|" + row[0].text + "|" + header[c].text];
        if (header[c].text == "ranks") ranks.insert(row[c].text);
      }
    }
  }
  void add(const std::string& report, const Document& d) {
    add_html(report, render_html(d, report));
    std::istringstream in(test::csv_of(d));
    std::vector<std::string> header;
    for (std::string line; std::getline(in, line);) {
      const std::vector<std::string> row = fields(line);
      if (row[0] == "table") header = row;
      for (std::size_t c = 0; c < row.size() && c < header.size(); ++c)
        if (is_zero(row[c])) ++zeros["csv of " + report + "|" + row[1] + "|" + header[c]];
    }
  }
};

Printed everything(const RunRecord& r) {
  Printed p;
  const std::string page = html_page({.results = {{{"a.json", r}, ""}}});
  p.add_html("page", page.substr(0, page.find("<section id=\"raw\"")));
  p.add("show", show_run(r));
  try {
    if (r.kind == "time_to_target") p.add("compare", compare({{"a", r}, {"b", random_run(1)}}));
    else p.add("compare", compare_groups({{"A", {{"a", r}}}, {"B", {{"b", r}}}}, {}).document);
  } catch (const UsageError&) {}  // a result without any number has nothing to compare
  p.add("score", score({{"a", r}}));
  p.add("ablations", ablations({{"a", r}}, {.details = true}));
  p.add("accuracy", accuracy({{"a", r}}, {.thresholds = {0.45}, .interpolate = true}));
  if (r.trace) p.add("timeline", timeline({{"a", r}}));
  if (r.steps.size() == 0) return p;
  NamedRun larger{"b", random_run(1)};
  larger.record.system["world_size"] = 4;
  try {
    p.add("scaling", scaling({{"a", r}, larger}, {}));
  } catch (const UsageError& e) { p.refusal = e.what(); }
  return p;
}

// Every place of a document: objects' members, and the entries of lists.
void places(const Json& value, const Json::json_pointer& at, std::vector<Json::json_pointer>& out) {
  if (value.is_object())
    for (const auto& [key, child] : value.items()) out.push_back(at / key), places(child, at / key, out);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_structured()) places(value[i], at / i, out);
      if (i < 2) out.push_back(at / i);
    }
}

void no_zero_appears(const RunRecord& whole) {
  const Json document = Json::parse(result::result_text(whole));
  const Printed before = everything(whole);
  EXPECT_EQ(before.refusal, "");
  std::vector<Json::json_pointer> all;
  places(document, Json::json_pointer(), all);
  std::size_t refused = 0, read = 0;
  for (const auto& at : all) {
    const std::string list = at.parent_pointer().to_string();
    if (list == "/trace/events") continue;  // an entry less renames the others
    const bool is_entry = at.back().find_first_not_of("0123456789") == std::string::npos;
    const std::string name = is_entry ? at.parent_pointer().back() : at.back();
    Json without = document;
    Json& parent = without[at.parent_pointer()];
    if (parent.is_array()) parent.erase(std::stoul(at.back()));
    else parent.erase(at.back());
    try {
      const RunRecord r = result::run_record_from_json(without);
      const Printed after = everything(r);
      for (const auto& [cell, n] : after.zeros) {
        // one evaluation less may be the one that reached the target
        if (list == "/accuracy" && cell.ends_with("|reached")) continue;
        EXPECT_LE(n, before.zeros.contains(cell) ? before.zeros.at(cell) : 0)
            << "without " << at.to_string() << ": " << cell;
      }
      for (const std::string& ranks : after.ranks)
        EXPECT_TRUE(ranks == "-" || before.ranks.contains(ranks))
            << "without " << at.to_string() << ": " << ranks << " ranks";
      EXPECT_TRUE(after.refusal.empty() || after.refusal.find(name) != std::string::npos)
          << "without " << at.to_string() << ": " << after.refusal;
      ++read;
    } catch (const DataError& e) {
      const std::string what = e.what();
      EXPECT_TRUE(what.find(name) != std::string::npos || what.find("different lengths") != std::string::npos)
          << at.to_string() << ": " << what;
      ++refused;
    }
  }
  EXPECT_GT(refused, 20u);
  EXPECT_GT(read, 20u);
}

TEST(Property, Missing_NeverBecomesZero) {
  no_zero_appears(random_run(3));
  no_zero_appears(test::toy_ablation());
}

}  // namespace
}  // namespace ttt::reports
