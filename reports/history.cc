#include "reports/history.h"

#include <algorithm>
#include <memory>

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

// Runs of one machine and one recipe, in the order of their start.
struct Track {
  std::vector<Point> points;
  std::string title() const {
    const Point& last = points.back();
    return system_text(last.run->record) + (last.sample.fullname.empty() ? "" : ", " + last.sample.fullname);
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

// A key that one of two versions lacks keeps them together: recipes grow from commit to commit.
bool is_one_series(const Point& a, const Point& b) {
  const auto settings = differences(a.run->record, b.run->record, {"seed"});
  return a.sample.fullname == b.sample.fullname && a.run->record.recipe.name == b.run->record.recipe.name &&
         system_text(a.run->record) == system_text(b.run->record) &&
         std::all_of(settings.begin(), settings.end(), [](const Difference& d) { return d.unknown; });
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

}  // namespace

Document history(const std::vector<NamedRun>& runs, const std::string& metric) {
  std::vector<Point> points;
  std::vector<Sample> all;
  for (const NamedRun& run : runs)
    for (Sample& s : samples_of(run.record)) {
      all.push_back(s);
      if (s.metric == metric) points.push_back({&run, std::move(s)});
    }
  check_metric(metric, all);
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
  const std::size_t count = steps.rows.size();
  Document d = {
      Paragraph{(count == 0 ? "No step" : std::to_string(count) + (count == 1 ? " step" : " steps")) + " found in " +
                lines[0].points[0].sample.label + ", in " + std::to_string(lines.size()) + " series."}};
  if (count > 0) d.push_back(std::move(steps));
  d.push_back(Heading{"Series, the oldest run at the left"}), d.push_back(std::move(series));
  return d;
}

static std::function<int()> declare_history(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> files;
    std::string metric = "time to target";
    Output output;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("files", a->files, "Folders of result files, and files")->required();
  command.add_option("--metric", a->metric, "What to follow: time to target, images/s, step time, ...")
      ->capture_default_str();
  add_output_options(command, a->output);
  command.footer("Example: report history results --metric 'step time'");
  return [a] {
    Inputs inputs = read_inputs(a->files);
    name_left_out(inputs);
    std::vector<NamedRun> runs;
    for (ResultFile& r : inputs.results) runs.push_back(std::move(r.run));
    print(history(runs, a->metric), a->output);
    return inputs.exit_code();
  };
}

const Command kHistory = {
    "history", "A number over commits, a series of each machine, with the steps in it", declare_history};

}  // namespace ttt::reports
