#include "reports/ablations.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "core/nearest.h"
#include "core/statistics.h"
#include "reports/batch_ladder.h"
#include "reports/command_line.h"
#include "reports/convergence.h"
#include "reports/numbers.h"
#include "reports/ranking.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::Comparison;

std::string change_percent(double x) { return fixed("%+.2f %%", 100 * x); }

std::string promise_text(const Comparison& c) {
  if (c.gate_steps == 0) return "not checked";
  if (c.promise == "other_work") return "no promise made";
  if (c.promise == "bitwise") return c.status == "promise_broken" ? "bits: BROKEN" : "same bits, kept";
  return fixed("%s%.0e, was %.0e", c.status == "promise_broken" ? "BROKEN: " : "within ", c.promised_difference,
      c.largest_difference);
}

// With a unit's prefix from a thousand on: 1.23 M.
std::string amount(double x) {
  constexpr const char* kPrefix[] = {"", " k", " M", " G", " T"};
  std::size_t i = 0;
  for (; x >= 1000 && i + 1 < std::size(kPrefix); ++i) x /= 1000;
  return fixed("%.*f", x < 0.1 ? 4 : x < 10 ? 2 : x < 100 ? 1 : 0, x) + kPrefix[i];
}

// Below it, a counter's change is chance. What the program itself does comes whole times a step, while the system's own
// doings (a page here, a time slice there) come and go by some in any step.
double least_named(const std::string& counter) {
  if (counter == "cpu_s" || counter == "straggler_index") return 0;
  return counter == "page_faults" || counter == "preemptions" ? 10 : 0.5;
}

// Main effects and interactions of a factorial design, from every combination's effect on the logarithm of the step
// time (none: 0).
void add_factorial(const std::vector<const Comparison*>& rows, Document& d) {
  std::set<std::string> names;
  for (const Comparison* c : rows) names.insert(c->factors.begin(), c->factors.end());
  const std::vector<std::string> factors(names.begin(), names.end());
  std::map<std::set<std::string>, double> log_effect = {{{}, 0.0}};
  for (const Comparison* c : rows)
    if (const auto e = measured_effect(*c))
      log_effect[{c->factors.begin(), c->factors.end()}] = std::log1p(e->estimate);
  if (log_effect.size() != std::size_t{1} << factors.size()) {
    d.push_back(Paragraph{"No main effects: not every combination was measured."});
    return;
  }
  Table t{.header = {"factor", "main effect", "alone", "beside all others"}, .right = {false, true, true, true}};
  const auto cell = [](double log) { return Cell(change_percent(std::expm1(log)), 100 * std::expm1(log), "%"); };
  for (const std::string& f : factors) {
    double sum = 0;
    for (const auto& [on, log] : log_effect) sum += on.contains(f) ? log : -log;
    std::set<std::string> others = names;
    others.erase(f);
    t.rows.push_back({f, cell(sum / static_cast<double>(log_effect.size() / 2)), cell(log_effect.at({f})),
        cell(log_effect.at(names) - log_effect.at(others))});
  }
  d.push_back(std::move(t));
}

// By how much the phase changed, and the whole step.
Cell part_cell(const Comparison& c) {
  const auto found = cause(c);
  const auto step = result::step_change(c.samples);
  if (!found || !step) return "";
  const Interval ms = {1e3 * found->change_s.estimate, 1e3 * found->change_s.low, 1e3 * found->change_s.high};
  Cell cell(fixed("%+.2f ms (%+.2f to %+.2f) of %+.2f ms", ms.estimate, ms.low, ms.high, 1e3 * step->estimate));
  cell.values = {ms.estimate, ms.low, ms.high}, cell.unit = "ms";
  return cell;
}

// Both sides' rates of floating-point operations over the machine's matrix multiply, "79 -> 81 %". Empty where they
// round to the same, or are unknown.
Cell of_peak_cell(const Comparison& c, const std::vector<result::Peak>& peaks) {
  const auto peak =
      std::find_if(peaks.begin(), peaks.end(), [](const result::Peak& p) { return p.name == "matrix_multiply"; });
  const auto flops = c.counters.find("flops");
  if (peak == peaks.end() || peak->samples.empty() || flops == c.counters.end()) return "";
  const double best = *std::max_element(peak->samples.begin(), peak->samples.end());
  const auto share = [&](int side, const std::vector<double>& seconds) {
    return 100 * (*flops)[static_cast<std::size_t>(side)].get<double>() / median(seconds) / best;
  };
  const double baseline = share(0, c.samples.baseline_s), variant = share(1, c.samples.variant_s);
  if (std::lround(baseline) == std::lround(variant)) return "";
  return {fixed("%.0f -> %.0f %%", baseline, variant), variant, "%"};
}

Row row(const Comparison& c, bool name_baseline, const result::RunRecord& record) {
  const std::string variant = variant_text(c) + (name_baseline ? " against " + c.baseline : "");
  const auto e = measured_effect(c);
  if (!e)
    return {variant, "-", "-", c.status == "measured" ? "too few builds" : c.status + ": " + c.reason, "-", "-",
        promise_text(c), "", "", "", ""};
  const std::size_t builds = c.samples.builds(), pairs = c.samples.size();
  return {variant, {change_percent(e->estimate), 100 * e->estimate, "%"},
      {change_percent(e->low) + " to " + change_percent(e->high), 100 * e->low, 100 * e->high, "%"}, finding_text(*e),
      {std::to_string(builds), static_cast<double>(builds)}, {std::to_string(pairs), static_cast<double>(pairs)},
      promise_text(c), cause_text(c), part_cell(c), of_peak_cell(c, record.peaks), counters_text(c)};
}

}  // namespace

std::string finding_text(const Interval& e) {
  if (e.high < 0) return "faster";
  if (e.low > 0) return "slower";
  return "no difference shown at this precision";
}

std::optional<PhaseChange> cause(const Comparison& c) {
  const auto e = measured_effect(c);
  const auto step = result::step_change(c.samples);
  if (!e || !step || (e->low <= 0 && e->high >= 0)) return std::nullopt;
  std::optional<PhaseChange> largest;
  const auto changes = result::phase_changes(c.samples);
  for (const auto& [phase, change] : changes) {
    const bool with_the_effect = e->low > 0 ? change.low > 0 : change.high < 0;
    // Of n parts of a sum the largest is an n-th or more: less is not the one that explains most, however well it is
    // known.
    const bool large_enough = change.estimate / step->estimate * static_cast<double>(changes.size()) >= 1;
    if (with_the_effect && large_enough &&
        (!largest || std::abs(change.estimate) > std::abs(largest->change_s.estimate)))
      largest = {phase, change};
  }
  return largest;
}

std::string cause_text(const Comparison& c) {
  const auto e = measured_effect(c);
  if (!e) return "";
  if (e->low <= 0 && e->high >= 0) return "no difference to explain";
  if (!is_whole_step(c)) return "the operation itself";
  if (c.samples.phases.empty()) return "not known: an earlier program sampled no phases";
  const auto found = cause(c);
  return found ? found->phase : "no phase can be told apart";
}

std::string counters_text(const Comparison& c) {
  struct Change {
    double size;
    std::string text;
  };
  std::vector<Change> changes;
  for (const auto& [name, pair] : c.counters.items()) {
    const double a = pair[0].get<double>(), b = pair[1].get<double>(), larger = std::max(a, b);
    // what differs by less than 5 % is no cause to name
    if (larger < least_named(name) || std::abs(b - a) < 0.05 * larger) continue;
    changes.push_back({std::abs(b - a) / larger, name + " " + amount(a) + " -> " + amount(b)});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& x, const Change& y) { return x.size > y.size; });
  std::string text;
  for (std::size_t i = 0; i < changes.size() && i < 4; ++i) text += (i ? "; " : "") + changes[i].text;
  return text;
}

Document comparison_blocks(const result::RunRecord& record) {
  Document d;
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Comparison*>> by_name;
  for (const Comparison& c : record.comparisons) {
    if (by_name[c.ablation].empty()) order.push_back(c.ablation);
    by_name[c.ablation].push_back(&c);
  }
  for (const std::string& name : order) {
    const Comparison& first = *by_name[name].front();
    d.push_back(Heading{name + ": " + first.question});
    const bool one_baseline = std::all_of(
        by_name[name].begin(), by_name[name].end(), [&](const Comparison* c) { return c->baseline == first.baseline; });
    const bool whole_steps =
        std::all_of(by_name[name].begin(), by_name[name].end(), [](const Comparison* c) { return is_whole_step(*c); });
    d.push_back(Paragraph{"Expected: " + first.expectation +
                          (whole_steps ? " Time of a training step" : " Time of one operation alone") +
                          (one_baseline ? " against '" + first.baseline + "'" : std::string()) + ":"});
    Table t{
        .header = {"variant", whole_steps ? Label("step time") : Label("operation time"), "95 % interval", "finding",
            "builds", "pairs", "numbers", "cause", "its part of the change", "of peak", "counters that changed"},
        .right = {false, true, true, false, true, true, false, false, true, true, false}};
    for (const Comparison* c : by_name[name]) t.rows.push_back(row(*c, !one_baseline, record));
    d.push_back(std::move(t));
    for (const Comparison* c : by_name[name])
      if (is_disturbed(*c)) d.push_back(Paragraph{"! " + variant_text(*c) + ": " + result::disturbance({c})});
    if (std::any_of(by_name[name].begin(), by_name[name].end(),
            [](const Comparison* c) { return measured_effect(*c) && c->samples.builds() == 1; }))
      d.push_back(
          Paragraph{"Of one build, an interval is over its rounds: by how much two builds of the same thing differ, "
                    "some tenths of a per cent, is not in it."});
    if (first.design != "factorial") continue;
    std::vector<std::string> settings;
    std::map<std::string, std::vector<const Comparison*>> by_setting;
    for (const Comparison* c : by_name[name]) {
      if (by_setting[c->setting].empty()) settings.push_back(c->setting);
      by_setting[c->setting].push_back(c);
    }
    for (const std::string& setting : settings) {
      if (!setting.empty()) d.push_back(Paragraph{"With " + setting + ":"});
      add_factorial(by_setting[setting], d);
    }
  }
  return d;
}

namespace {

// Leaves what was asked for; nothing asked for is everything.
void keep_only(std::vector<NamedRun>& runs, const std::vector<std::string>& only) {
  std::set<std::string> known;
  const auto is_left_out = [&](const auto& row) {
    known.insert(row.ablation);
    return !only.empty() && std::find(only.begin(), only.end(), row.ablation) == only.end();
  };
  for (NamedRun& run : runs)
    std::erase_if(run.record.comparisons, is_left_out), std::erase_if(run.record.convergence, is_left_out),
        std::erase_if(run.record.batch_ladders, is_left_out);
  for (const std::string& name : only)
    if (!known.contains(name))
      throw UsageError("'" + name + "' is no file, and no ablation of these results." +
                       nearest_and(name, {known.begin(), known.end()}, "without a name the report shows all."));
}

}  // namespace

Document ablations(const std::vector<NamedRun>& all, const AblationOptions& options) {
  std::vector<NamedRun> runs = all;
  keep_only(runs, options.only);
  if (!options.details && options.only.empty()) return ranked_blocks(runs);
  Document d;
  for (const NamedRun& run : runs) {
    const result::RunRecord& r = run.record;
    const bool several = runs.size() > 1;
    if (several) d.push_back(Heading{run.name});
    d.push_back(Paragraph{system_text(r) + ", recipe " + r.recipe.name + ": " +
                          std::string(result::verdict_name(r.verdict)) + ". " + r.reason});
    Document blocks = convergence_blocks(r);
    for (Document& more : std::array{ladder_blocks(r), comparison_blocks(r)})
      std::move(more.begin(), more.end(), std::back_inserter(blocks));
    if (blocks.empty()) d.push_back(Paragraph{"No comparisons: this is a result of kind " + r.kind + "."});
    for (Block& block : blocks) {
      // of CSV the only name
      if (auto* heading = std::get_if<Heading>(&block); heading && several)
        heading->text = run.name + ": " + heading->text;
      d.push_back(std::move(block));
    }
  }
  return d;
}

static std::function<int()> declare_ablations(CLI::App& command) {
  struct Arguments : FilesArguments {
    AblationOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  add_files(command, *a,
      "Result files of ablate. Names of ablations after them: the details of these. A result of a training says "
      "what is in your recipe, where a file of an earlier program does not");
  command.add_flag("--details", a->options.details, "Every comparison: builds, pairs, promise, cause, counters");
  add_output_options(command, a->output);
  command.footer(
      "Example: report ablations results/ablations.json\n"
      "         report ablations results/ablations.json reducer\n"
      "         report ablations results/ablations.json --details --folder tables");
  return [a] {
    const auto is_name = [](const std::string& word) {
      return word.find_first_of("/.") == std::string::npos && !std::filesystem::exists(word);
    };
    const auto names = std::stable_partition(a->files.begin(), a->files.end(), std::not_fn(is_name));
    a->options.only.assign(names, a->files.end());
    a->files.erase(names, a->files.end());
    if (a->files.empty()) throw UsageError("'" + a->options.only[0] + "' is no file. Name a result of ablate first.");
    const Runs all = read_runs(*a);
    if (!all.runs.empty()) print(ablations(all.runs, a->options), a->output);
    return all.exit_code;
  };
}

const Command kAblations = {"ablations",
    "What techniques are worth, ranked: effect, interval, what is in your recipe; causes in detail", declare_ablations};

}  // namespace ttt::reports
