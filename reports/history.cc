#include "reports/history.h"

#include <algorithm>
#include <memory>
#include <set>

#include "core/statistics.h"
#include "reports/change_points.h"
#include "reports/command_line.h"
#include "reports/follow.h"
#include "reports/group_compare.h"
#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_names.h"
#include "reports/samples.h"

namespace ttt::reports {
namespace {

struct Point {
  const NamedRun* run = nullptr;
  Sample sample;
  std::string started() const { return text_at(run->record.provenance, "started_at", ""); }
};

std::string system_of(const Point& p) { return machine_text(p.run->record) + ", " + ranks_text(p.run->record); }

// Runs of one machine and one recipe, in the order of their start.
struct Track {
  std::vector<Point> points;
  std::string title() const {
    const Point& last = points.back();
    return system_of(last) + (last.sample.fullname.empty() ? "" : ", " + last.sample.fullname);
  }
  // Its name and what differs from the defaults: "default, train.max_steps 60".
  std::string recipe() const {
    const result::RecipeRecord& recipe = points.back().run->record.recipe;
    std::string text = recipe.name;
    for (const result::Json& c : recipe.changes)
      if (const std::string key = text_at(c, "key"); !is_harmless(key) && key != "seed")
        text += ", " + key + " " + text_at(c, "value");
    return text;
  }
  std::vector<double> values(std::size_t begin, std::size_t end) const {
    std::vector<double> out;
    for (std::size_t i = begin; i < end; ++i) out.push_back(points[i].sample.value);
    return out;
  }
};

bool is_one_series(const Point& a, const Point& b) {
  return a.sample.fullname == b.sample.fullname && a.run->record.recipe.name == b.run->record.recipe.name &&
         system_of(a) == system_of(b) && differences(a.run->record, b.run->record, {"seed"}).empty();
}

std::vector<Track> tracks_of(std::vector<Point> points) {
  std::stable_sort(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.started() < b.started(); });
  std::vector<Track> lines;
  for (Point& p : points) {
    const auto line =
        std::find_if(lines.begin(), lines.end(), [&](const Track& l) { return is_one_series(l.points.back(), p); });
    if (line == lines.end()) lines.push_back({{std::move(p)}});
    else line->points.push_back(std::move(p));
  }
  return lines;
}

// Blocks of the whole series on one scale, a bar before each step.
std::string plot(const Track& line, const std::vector<std::size_t>& steps) {
  constexpr std::size_t kColumns = 40;
  const std::size_t n = line.points.size(), columns = std::min(kColumns, n), bytes = 3;  // of a block
  const std::string blocks = sparkline(line.values(0, n), columns);
  std::string out;
  for (std::size_t c = 0; c < columns; ++c) {
    const bool is_step = std::any_of(steps.begin(), steps.end(),
        [&](std::size_t at) { return at >= c * n / columns && at < (c + 1) * n / columns; });
    out += (is_step ? "|" : "") + blocks.substr(c * bytes, bytes);
  }
  return out;
}

// How many steps there are, or that no series is long enough for one.
std::string found_text(const std::vector<Track>& lines, std::size_t steps) {
  std::size_t enough = 0, longest = 0;
  for (const Track& line : lines) {
    enough += line.points.size() >= kLeastSeries;
    longest = std::max(longest, line.points.size());
  }
  const std::string& label = lines[0].points[0].sample.label;
  if (enough == 0)
    return "Too few runs to find a step in " + label + ": it takes " + std::to_string(kLeastSeries) +
           " runs of one machine and recipe, and the longest of " + std::to_string(lines.size()) + " series has " +
           std::to_string(longest) + ".";
  return (steps == 0 ? "No step" : std::to_string(steps) + (steps == 1 ? " step" : " steps")) + " found in " + label +
         ", in " + std::to_string(enough) + " series" +
         (enough == lines.size() ? "" : "; " + std::to_string(lines.size() - enough) + " more are too short for one") +
         ".";
}

}  // namespace

Document history(const std::vector<NamedRun>& runs, const std::string& metric) {
  std::vector<Point> points;
  std::vector<std::string> metrics;
  std::set<const NamedRun*> with;
  for (const NamedRun& run : runs)
    for (Sample& s : samples_of(run.record)) {
      metrics.push_back(s.metric);
      if (s.metric == metric) points.push_back({&run, std::move(s)}), with.insert(&run);
    }
  check_metric(metric, metrics);
  Table series{.header = {"system", "recipe", "runs", "median", "history"}, .right = {false, false, true, true, false}};
  Table steps{.header = {"system", "commit", "started", "before", "after", "change"},
      .right = {false, false, false, true, true, true}};
  const std::vector<Track> lines = tracks_of(std::move(points));
  for (const Track& line : lines) {
    const std::size_t n = line.points.size();
    const char* form = line.points[0].sample.form;
    std::vector<std::size_t> found = change_points(line.values(0, n));
    series.rows.push_back({line.title(), line.recipe(), whole(static_cast<std::int64_t>(n)),
        number(form, median(line.values(0, n))), plot(line, found)});
    found.insert(found.begin(), 0), found.push_back(n);
    for (std::size_t i = 1; i + 1 < found.size(); ++i) {
      const auto before = line.values(found[i - 1], found[i]), after = line.values(found[i], found[i + 1]);
      const Point& first = line.points[found[i]];
      steps.rows.push_back({line.title(), commit_text(first.run->record), first.started(), number(form, median(before)),
          number(form, median(after)), change_cell(group_change(before, after))});
    }
  }
  Document d = {
      Paragraph{found_text(lines, steps.rows.size()) +
                (with.size() == runs.size()
                        ? ""
                        : " " + std::to_string(runs.size() - with.size()) + " of " + std::to_string(runs.size()) +
                              " results " + (runs.size() - with.size() == 1 ? "has no " : "have no ") + metric + ".")}};
  if (!steps.rows.empty()) d.push_back(std::move(steps));
  d.push_back(Heading{"Series of " + lines[0].points[0].sample.label + ", the oldest run at the left"});
  d.push_back(std::move(series));
  return d;
}

static std::function<int()> declare_history(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::string metric = "time to target";
  };
  const auto a = std::make_shared<Arguments>();
  add_files(command, *a, "Folders of result files, and files");
  command.add_option("--metric", a->metric, "What to follow: time to target, images/s, step time, ...")
      ->capture_default_str();
  add_output_options(command, a->output);
  command.footer("Example: report history results --metric 'step time'");
  return [a] {
    const Runs all = read_runs(*a);
    print(history(all.runs, a->metric), a->output);
    return all.exit_code;
  };
}

const Command kHistory = {
    "history", "A number over commits, a series of each machine, with the steps in it", declare_history};

}  // namespace ttt::reports
