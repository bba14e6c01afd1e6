// The first lines of a comparison of groups: who is faster, and whether the gate lets it pass.
#include <algorithm>

#include "core/error.h"
#include "reports/group_grid.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

// Whether less of it, or more of a rate, is faster.
bool is_speed(const Line& line) { return line.metric == "images/s" || line.label.ends_with("s]"); }

// "time to target 95.200 s -> 68.000 s"
std::string medians_text(const Line& line, double from, double to) {
  const std::size_t open = line.label.find(" [");
  const std::string unit = is_speed(line) && open != std::string::npos
                               ? " " + line.label.substr(open + 2, line.label.size() - open - 3)
                               : "";
  return line.metric + " " + fixed(line.form, from) + unit + " -> " + fixed(line.form, to) + unit;
}

// "B is 1.40 times as fast as A (time to target 95.200 s -> 68.000 s, 95 % interval 1.32 to 1.47", the faster first.
std::string ratio_text(const std::string& a, const std::string& b, const Line& line, double change,
    const std::optional<Bounds>& interval, const std::string& of) {
  const bool inverse = is_speed(line) && line.better == Better::kLower;
  const auto factor = [&](double share) { return inverse ? 1 / (1 + share) : 1 + share; };
  const bool second_leads = factor(change) >= 1;
  const auto led = [&](double share) { return second_leads ? factor(share) : 1 / factor(share); };
  const std::string &first = second_leads ? b : a, &other = second_leads ? a : b;
  std::string text = first + (is_speed(line) ? " is " : " has ") + fixed("%.2f", led(change)) +
                     (is_speed(line) ? " times as fast as " + other : " times the " + line.metric + " of " + other) +
                     " (" + of;
  if (interval) {
    const auto [low, high] = std::minmax({led(interval->low), led(interval->high)});
    text += fixed(", 95 %% interval %.2f to %.2f", low, high);
  }
  return text;
}

std::string runs_text(const GroupChange& c) { return "n=" + std::to_string(c.runs_a) + "+" + std::to_string(c.runs_b); }
std::string p_text(const GroupChange& c) {
  return (c.runs_a > 1 && c.runs_b > 1 ? fixed("p=%.3f ", c.p) : "") + runs_text(c);
}
std::string rows_text(std::size_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

// By how much the interval's ends are worse: the nearer one, and the farther.
Bounds worsening(const Line& line, const Bounds& change) {
  return line.better == Better::kLower ? change : Bounds{-change.high, -change.low};
}

// "of 20 rows 12 are shown to be better, 0 worse", or why none can be.
std::string shown_text(const std::vector<const Line*>& lines, std::size_t side) {
  std::size_t better = 0, worse = 0, with_interval = 0, rows = 0;
  for (const Line* line : lines) {
    const auto change = change_of(*line, side);
    rows += change.has_value();
    if (!change || !change->interval) continue;
    const Bounds w = worsening(*line, *change->interval);
    ++with_interval, better += w.high<0, worse += w.low> 0;
  }
  if (with_interval == 0) return "no interval: it needs " + std::to_string(kLeastRuns) + " runs of each side";
  return "of " + rows_text(rows) + " " + std::to_string(better) + (better == 1 ? " is" : " are") +
         " shown to be better, " + std::to_string(worse) + " worse";
}

// Runs of a column that have no sample of the metric: they did not get there.
std::size_t runs_without(const Grid& g, const std::vector<const Line*>& lines, std::size_t side) {
  std::set<const NamedRun*> with;
  for (const Line* line : lines) with.insert(line->runs[side].begin(), line->runs[side].end());
  return g.sides[side].runs.size() - with.size();
}

// "1 of 4 runs of B have no time to target"; "" where all have.
std::string without_text(const Grid& g, const std::string& metric, std::size_t side) {
  const std::size_t without = runs_without(g, lines_of(g, metric), side), all = g.sides[side].runs.size();
  if (without == 0) return "";
  return std::to_string(without) + " of " + std::to_string(all) + (all == 1 ? " run of " : " runs of ") +
         g.sides[side].title + (without == 1 ? " has no " : " have no ") + metric;
}

std::string difference_text(const Grid& g, const std::string& metric, std::size_t side) {
  const auto lines = lines_of(g, metric);
  const std::string &a = g.sides[0].title, &b = g.sides[side].title;
  if (lines.size() > 1) {
    const Means m = geometric_means(lines, g.sides.size());
    if (m.rows == 0) return "No row of " + metric + " is in all columns.";
    return ratio_text(a, b, *lines[0], m.of_side[side] / m.of_side[0] - 1, std::nullopt,
               "geometric mean of " + rows_text(m.rows) + ", " +
                   medians_text(*lines[0], m.of_side[0], m.of_side[side])) +
           "; " + shown_text(lines, side) + ").";
  }
  const Line& line = *lines[0];
  const auto change = change_of(line, side);
  if (!change) return metric + " is not in both " + a + " and " + b + ".";
  const std::string medians = medians_text(line, median(line.samples[0]), median(line.samples[side]));
  if (change->is_shown())
    return ratio_text(a, b, line, change->estimate, change->interval, medians) + ", " + p_text(*change) + ").";
  return "No difference shown between " + a + " and " + b + " (" + medians + ", " +
         (change->interval
                 ? "change " + interval_text(*change) + ", " + p_text(*change)
                 : runs_text(*change) + ": an interval needs " + std::to_string(kLeastRuns) + " runs of each side") +
         ").";
}

}  // namespace

std::string answer(const Grid& g, const std::string& metric, std::size_t side) {
  std::string text = difference_text(g, metric, side);
  for (const std::size_t s : {std::size_t{0}, side})
    if (const std::string without = without_text(g, metric, s); !without.empty())
      text += " " + without + " and " + (runs_without(g, lines_of(g, metric), s) == 1 ? "does" : "do") + " not count.";
  return text;
}

GateFinding gate(const Grid& g, const std::string& metric, double limit) {
  const auto lines = lines_of(g, metric);
  std::vector<std::string> failures;
  std::string last;  // of what passes
  std::size_t passed = 0, open = 0;
  for (std::size_t s = 1; s < g.sides.size(); ++s) {
    const std::string& who = g.sides[s].title;
    if (const std::string without = without_text(g, metric, s); !without.empty()) {
      failures.push_back(without + ".");
      continue;
    }
    for (const Line* line : lines) {
      const std::string name = metric + (line->title.empty() ? "" : ", " + line->title);
      const auto change = change_of(*line, s);
      if (!change || !change->interval)
        throw UsageError("The gate needs " + std::to_string(kLeastRuns) + " runs of " + g.sides[0].title + " and of " +
                         who + " with " + name + "; there are " + std::to_string(line->samples[0].size()) + " and " +
                         std::to_string(line->samples[s].size()) + ". Name more runs" +
                         (lines.size() > 1 ? ", or leave that row out with --filter." : "."));
      const Bounds worse = worsening(*line, *change->interval);
      const std::string measured = " (" + interval_text(*change) + ", " + p_text(*change) + ").";
      if (worse.low > limit) {
        failures.push_back(name + " of " + who + " is worse by more" + measured);
        continue;
      }
      ++passed, open += worse.high > limit;
      last = name + " of " + who + " is not shown to be worse by more" + measured;
    }
  }
  const std::string verdict = fixed("Gate of %g %%: ", 100 * limit) + (failures.empty() ? "passed" : "failed");
  const std::string doubt = open > 0 ? " Nor is it ruled out: more runs would tell." : "";
  GateFinding found{failures.empty(), {}};
  if (passed + failures.size() == 1) {
    found.sentences = {verdict + ". " + (failures.empty() ? last + doubt : failures[0])};
    return found;
  }
  found.sentences = {verdict + (failures.empty() ? " in all " : " in " + std::to_string(failures.size()) + " of ") +
                     rows_text(passed + failures.size()) + "." +
                     (open > 0 ? " Of " + rows_text(open) + " it is not ruled out: more runs would tell." : "") +
                     (failures.empty() || limit > 0 ? "" : " By chance alone, one row in 40 fails.")};
  found.sentences.insert(found.sentences.end(), failures.begin(), failures.end());
  return found;
}

}  // namespace ttt::reports
