#include "reports/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/effects.h"
#include "reports/groups.h"
#include "reports/html.h"
#include "reports/machines.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::Json;

// Okabe and Ito's palette, which colour-blind readers tell apart.
constexpr std::array<const char*, 6> kPalette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr double kWidth = 1040, kRowHeight = 26, kEffectWidth = 165, kLine = 14;
constexpr std::size_t kNameLetters = 26, kHeadLetters = 20;  // of a machine on one line, at a bar and over a column
constexpr const char *kMuted = "#666666", *kTitle = "font-size='16' font-weight='bold'";

// An SVG that grows by elements. Coordinates are pixels from the upper left corner.
class Drawing {
 public:
  void line(double x1, double y1, double x2, double y2, const std::string& colour, double width) {
    add("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%.1f'/>", x1, y1, x2, y2,
        colour.c_str(), width);
  }
  void box(double x, double y, double width, double height, const std::string& colour) {
    add("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>", x, y, width, height, colour.c_str());
  }
  // Of the `machine`th machine, whose shape it has where colours are not seen. Filled: the interval excludes 0.
  void mark(double x, double y, std::size_t machine, const std::string& colour, bool filled) {
    const char* fill = filled ? colour.c_str() : "#ffffff";
    if (machine % 2 == 0)
      add("<circle cx='%.1f' cy='%.1f' r='4' stroke='%s' stroke-width='1.5' fill='%s'/>", x, y, colour.c_str(), fill);
    else
      add("<rect x='%.1f' y='%.1f' width='7' height='7' stroke='%s' stroke-width='1.5' fill='%s'/>", x - 3.5, y - 3.5,
          colour.c_str(), fill);
  }
  // `anchor`: start, middle or end.
  void text(double x, double y, const char* anchor, const std::string& colour, const std::string& words,
      const char* style = "") {
    add("<text x='%.1f' y='%.1f' text-anchor='%s' fill='%s' %s>", x, y, anchor, colour.c_str(), style);
    body_ += html_escaped(printable(words)) + "</text>\n";
  }
  std::string svg(const std::string& title, double height) const {
    return fixed("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f' ", kWidth,
               height, kWidth, height) +
           "font-family='Helvetica,Arial,sans-serif' font-size='12' role='img'>\n<title>" + html_escaped(title) +
           "</title>\n<rect width='100%' height='100%' fill='#ffffff'/>\n" + body_ + "</svg>\n";
  }

 private:
  template <class... Args> void add(const char* pattern, Args... args) { body_ += fixed(pattern, args...) + "\n"; }
  std::string body_;
};

// On lines of at most so many letters, but for a word that has more.
std::vector<std::string> wrapped(const std::string& name, std::size_t letters) {
  std::vector<std::string> lines = {""};
  std::istringstream words(name);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > letters) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

// Values to pixels.
struct Axis {
  double low, high, left, right;
  double at(double value) const { return left + (value - low) / (high - low) * (right - left); }
};

// A round distance of grid lines: 1, 2 or 5 times a power of ten, at most `lines` of them.
double grid_step(double range, int lines) {
  const double power = std::pow(10, std::floor(std::log10(range / lines)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (range / (factor * power) <= lines) return factor * power;
  return 10 * power;
}

void draw_grid(Drawing& d, const Axis& axis, double top, double bottom, const char* pattern) {
  constexpr double kLabel = 44;  // of a line, at least: labels do not touch
  const int fit = std::clamp(static_cast<int>((axis.right - axis.left) / kLabel), 2, 8);
  const double step = grid_step(axis.high - axis.low, fit);
  for (double v = std::ceil(axis.low / step) * step; v <= axis.high; v += step) {
    const bool zero = std::abs(v) < step / 2;
    d.line(axis.at(v), top, axis.at(v), bottom, zero ? "#333333" : "#dddddd", 1);
    d.text(axis.at(v), top - 6, "middle", kMuted, fixed(zero ? "0" : pattern, v));
  }
}

struct Part {
  const char* name;
  double TimeFactors::*member;
};
constexpr Part kParts[] = {{"start-up", &TimeFactors::startup_s}, {"training", &TimeFactors::training_s},
    {"evaluation", &TimeFactors::evaluation_s}, {"checkpoints", &TimeFactors::checkpoint_s},
    {"lost to interruptions", &TimeFactors::lost_s}};

std::vector<double> of_runs(const Machine& m, double TimeFactors::*member) {
  std::vector<double> values;
  for (const result::RunRecord* r : m.passed) values.push_back(time_factors(*r).*member);
  return values;
}

// "95.2 s (93.0 to 96.2), 3 runs: 4 epochs x 22.8 s"
std::string bar_text(const Machine& m) {
  const Centre total = centre(of_runs(m, &TimeFactors::time_to_target_s));
  return centre_cell("%.1f", total).text + " s, " + result::counted(total.runs, "run") +
         fixed(": %.3g epochs x %.1f s", median(of_runs(m, &TimeFactors::epochs)),
             median(of_runs(m, &TimeFactors::epoch_s)));
}

Picture time_picture(const std::vector<Machine>& machines) {
  Drawing d;
  constexpr double kTop = 84, kLeft = 200;
  double longest = 0;
  for (const Machine& m : machines)
    if (!m.passed.empty()) longest = std::max(longest, median(of_runs(m, &TimeFactors::time_to_target_s)));
  const Axis axis{0, longest, kLeft, kWidth - 340};
  const double bottom = kTop + 2 * kRowHeight * static_cast<double>(machines.size());
  d.text(16, 26, "start", "#000000", "Time to target, median over runs that passed", kTitle);
  draw_grid(d, axis, kTop, bottom, "%.0f s");
  std::set<std::size_t> shown;  // parts that are not 0
  double y = kTop + 8;
  for (const Machine& m : machines) {
    const std::vector<std::string> names = wrapped(m.name, kNameLetters);
    for (std::size_t i = 0; i < names.size(); ++i)
      d.text(kLeft - 10, y + 18 + kLine * (static_cast<double>(i) - 0.5 * static_cast<double>(names.size() - 1)), "end",
          "#000000", names[i]);
    double x = 0;
    for (std::size_t i = 0; !m.passed.empty() && i < std::size(kParts); ++i) {
      const double s = median(of_runs(m, kParts[i].member));
      if (s <= 0) continue;
      shown.insert(i);
      d.box(axis.at(x), y, axis.at(x + s) - axis.at(x), kRowHeight, kPalette[i]);
      x += s;
    }
    d.text(axis.at(x) + 8, y + 18, "start", m.passed.empty() ? kMuted : "#000000",
        m.passed.empty() ? "not measured" : bar_text(m));
    y += 2 * kRowHeight;
  }
  double x = kLeft;
  for (const std::size_t i : shown) {
    d.box(x, 42, 12, 12, kPalette[i]);
    d.text(x + 18, 52, "start", "#000000", kParts[i].name);
    x += 110;
  }
  return {"time_to_target", d.svg("Time to target by its factors", bottom + 16)};
}

// Marks and rows as plots.h has them for a forest.
bool is_disturbed(const Json& mark) { return !mark.is_null() && !mark["warning"].get<std::string>().empty(); }

bool is_any_disturbed(const Json& rows) {
  return std::any_of(rows.begin(), rows.end(),
      [](const Json& row) { return std::any_of(row["marks"].begin(), row["marks"].end(), is_disturbed); });
}

void draw_row(Drawing& d, const Json& row, const Axis& axis, double y) {
  d.text(axis.left - 12, y + 4, "end", "#000000", row["name"].get<std::string>());
  const std::size_t machines = row["marks"].size();
  for (std::size_t m = 0; m < machines; ++m) {
    const Json& mark = row["marks"][m];
    if (mark.is_null()) continue;
    const std::string colour = kPalette[m % kPalette.size()];
    const double at = y + (machines == 1 ? 0 : 10 * (static_cast<double>(m) / static_cast<double>(machines - 1) - 0.5));
    d.line(axis.at(mark["low"].get<double>()), at, axis.at(mark["high"].get<double>()), at, colour, 1.5);
    d.mark(axis.at(mark["estimate"].get<double>()), at, m, colour, !mark["alike"].get<bool>());
    d.text(axis.right + 24 + kEffectWidth * static_cast<double>(m), y + 4, "start",
        mark["alike"].get<bool>() ? kMuted : "#000000",
        mark["effect"].get<std::string>() + " " + mark["interval"].get<std::string>() +
            (is_disturbed(mark) ? " !" : ""),
        "font-size='11'");
  }
}

Picture technique_picture(const Json& forest) {
  Drawing d;
  constexpr double kTop = 100, kLeft = 330;
  const Json &rows = forest["rows"], &machines = forest["machines"];
  Axis axis{0, 0, kLeft, kWidth - 24 - kEffectWidth * static_cast<double>(machines.size())};
  for (const Json& row : rows)
    for (const Json& mark : row["marks"])
      if (!mark.is_null())
        axis.low = std::min(axis.low, mark["low"].get<double>()),
        axis.high = std::max(axis.high, mark["high"].get<double>());
  const double bottom = kTop + kRowHeight * static_cast<double>(rows.size());
  const auto title = forest["title"].get<std::string>();
  d.text(16, 26, "start", "#000000", title, kTitle);
  d.text(16, 46, "start", kMuted,
      "95 % intervals, each technique against its ablation's baseline. A filled mark's interval excludes 0." +
          std::string(is_any_disturbed(rows) ? " !: disturbed, repeat when quiet." : ""));
  draw_grid(d, axis, kTop, bottom, "%+.0f %%");
  d.text(axis.at(0) - 8, kTop - 22, "end", kMuted, "← faster");
  d.text(axis.at(0) + 8, kTop - 22, "start", kMuted, "slower →");
  for (std::size_t m = 0; m < machines.size(); ++m) {
    const std::vector<std::string> names = wrapped(machines[m].get<std::string>(), kHeadLetters);
    for (std::size_t i = 0; i < names.size(); ++i)
      d.text(axis.right + 24 + kEffectWidth * static_cast<double>(m),
          kTop - 6 - kLine * static_cast<double>(names.size() - 1 - i), "start", kPalette[m % kPalette.size()],
          names[i], "font-weight='bold'");
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    draw_row(d, rows[i], axis, kTop + kRowHeight * (static_cast<double>(i) + 0.5));
  return {"techniques", d.svg(title, bottom + 16)};
}

}  // namespace

std::vector<Picture> pictures(const std::vector<NamedRun>& runs) {
  std::vector<Picture> out;
  const MachineFacts facts = machine_facts(runs);
  if (std::any_of(facts.machines.begin(), facts.machines.end(), [](const Machine& m) { return !m.passed.empty(); }))
    out.push_back(time_picture(facts.machines));
  if (const Json forest = effects(runs).steps; !forest.is_null()) out.push_back(technique_picture(forest));
  if (out.empty())
    throw UsageError("No picture: the results hold neither a run that passed nor an ablation with a difference.");
  return out;
}

static std::function<int()> declare_pictures(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::string out;
    bool force = false;
  };
  const auto a = std::make_shared<Arguments>();
  add_files(command, *a, "Results of runs to a target and of ablate, and folders of them");
  command.add_option("--out", a->out, "Folder for time_to_target.svg and techniques.svg")->required();
  command.add_flag("--force", a->force, "Replace them where they exist");
  command.footer("Example: report pictures results --out docs/pictures --force");
  return [a] {
    const Runs all = read_runs(*a);
    std::filesystem::create_directories(a->out);
    for (const Picture& p : pictures(all.runs)) write_page(a->out + "/" + p.name + ".svg", p.svg, a->force);
    return all.exit_code;
  };
}

const Command kPictures = {
    "pictures", "Time to target and techniques as two SVG pictures, for README and slides", declare_pictures};

}  // namespace ttt::reports
