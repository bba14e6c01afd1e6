#include "reports/telemetry.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "reports/command_line.h"
#include "reports/noise_scale.h"
#include "reports/numbers.h"
#include "reports/weight_growth.h"
#include "reports/weight_split.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::TelemetryGroup;
using result::TelemetrySeries;

constexpr std::size_t kBlocks = 24;  // consecutive samples are alike: their blocks are nearly independent
constexpr double kLargeFactor = 3.1622776601683795;  // half an order of magnitude

// Norm of all groups together, sample by sample.
std::vector<double> total(const TelemetrySeries& t, std::vector<double> TelemetryGroup::*norm) {
  std::vector<double> out(t.size(), 0.0);
  for (const TelemetryGroup& g : t.groups)
    for (std::size_t i = 0; i < t.size(); ++i) out[i] += (g.*norm)[i] * (g.*norm)[i];
  for (double& x : out) x = std::sqrt(x);
  return out;
}

Row group_row(const TelemetryGroup& g) {
  const std::vector<double>& weight = g.weight_norm;
  std::vector<double> share;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if (weight[i] > 0) share.push_back(g.update_norm[i] / weight[i]);
  return {g.name, whole(g.parameters), number("%.4g", median(g.gradient_norm)), number("%.5g", weight.front()),
      number("%.5g", weight.back()), share.empty() ? Cell("-") : number("%.2e", median(share))};
}

Table groups(const TelemetrySeries& t) {
  Table out{
      .header = {"group", "parameters", "gradient norm", "weight norm: first", "weight norm: last", "update / weight"},
      .right = {false, true, true, true, true, true}};
  TelemetryGroup all{.name = "all"};
  for (const TelemetryGroup& g : t.groups) {
    out.rows.push_back(group_row(g));
    all.parameters += g.parameters;
  }
  all.gradient_norm = total(t, &TelemetryGroup::gradient_norm),
  all.weight_norm = total(t, &TelemetryGroup::weight_norm);
  all.update_norm = total(t, &TelemetryGroup::update_norm);
  out.rows.push_back(group_row(all));
  return out;
}

// Medians over the samples; of nonfinite the sum, since one is one too many.
Table reductions(const TelemetrySeries& t) {
  Table out{.header = {"group", "of"}, .right = {false, false}};
  for (const result::TelemetryReduction& m : t.groups.front().reductions)
    if (m.of == t.groups.front().reductions.front().of) out.header.add_data(m.kind), out.right.push_back(true);
  for (const TelemetryGroup& g : t.groups)
    for (std::size_t i = 0; i < g.reductions.size(); ++i) {
      const result::TelemetryReduction& m = g.reductions[i];
      if (i == 0 || m.of != g.reductions[i - 1].of) out.rows.push_back({g.name, m.of});
      out.rows.back().push_back(
          m.kind == "nonfinite" ? number("%.0f", sum(m.values)) : number("%.4g", median(m.values)));
    }
  return out;
}

std::string ratio_finding(const std::optional<Interval>& i) {
  if (!i) return "too few samples";
  if (i->low >= kLargeFactor) return "larger by about an order of magnitude, or more";
  if (i->high <= 1 / kLargeFactor) return "smaller by about an order of magnitude, or more";
  if (i->low > 1) return "larger";
  if (i->high < 1) return "smaller";
  return "no difference shown";
}

std::optional<NormRatio> ratio_of(const TelemetrySeries& t, const std::string& above, const std::string& below) {
  const auto at = [&](const std::string& name) { return std::ranges::find(t.groups, name, &TelemetryGroup::name); };
  if (at(above) == t.groups.end() || at(below) == t.groups.end()) return std::nullopt;
  return norm_ratio(at(above)->gradient_norm, at(below)->gradient_norm);
}

Table ratios(const TelemetrySeries& t) {
  Table out{.header = {"ratio", "median", "95 % interval", "first third", "last third", "finding"},
      .right = {false, true, true, true, true, false}};
  const auto add = [&](const std::string& a, const std::string& b) {
    const auto r = ratio_of(t, a, b);
    if (!r) return;
    out.rows.push_back({a + " / " + b, number("%.3g", r->median),
        r->interval
            ? Cell(fixed("%.3g to %.3g", r->interval->low, r->interval->high), r->interval->low, r->interval->high, "")
            : Cell("-"),
        number("%.3g", r->first), number("%.3g", r->last), ratio_finding(r->interval)});
  };
  add("mask_head", "box_head"), add("rpn", "box_head"), add("mask_head", "rpn");
  return out;
}

struct Decay {
  std::int64_t step = 0;  // the first with the lower rate
  double from = 0, to = 0;
};

// A fall by a tenth or more from one step to the next, of a rate that did not fall before: not a curve's last steps.
std::vector<Decay> decays(const result::StepSeries& s) {
  std::vector<Decay> out;
  for (std::size_t i = 2; i < s.size(); ++i)
    if (s.learning_rate[i] < 0.9 * s.learning_rate[i - 1] && s.learning_rate[i - 1] >= s.learning_rate[i - 2])
      out.push_back({s.step[i], s.learning_rate[i - 1], s.learning_rate[i]});
  return out;
}

std::string step_text(const Decay& d) { return fixed("%.3g to %.3g", d.from, d.to); }

// All that the detector says of a run, of each group and of all together.
struct Found {
  std::string group;
  WeightGrowth growth;
  std::vector<WeightGrowth::Change> changes;
};
std::vector<Found> find_changes(const TelemetrySeries& t) {
  std::vector<Found> out;
  const auto add = [&](const std::string& name, const std::vector<double>& norm) {
    // weights that are all zero have no growth
    if (std::any_of(norm.begin(), norm.end(), [](double x) { return x <= 0; })) return;
    WeightGrowth growth(t.step, norm);
    auto changes = growth.changes();
    out.push_back({name, std::move(growth), std::move(changes)});
  };
  add("all", total(t, &TelemetryGroup::weight_norm));
  for (const TelemetryGroup& g : t.groups) add(g.name, g.weight_norm);
  return out;
}

bool is_at(const WeightGrowth::Change& change, const Decay& decay) {
  return std::abs(change.step - decay.step) <= change.within;
}

Table at_decays(const std::vector<Found>& found, const std::vector<Decay>& decays) {
  Table out{.header = {"step", "learning rate", "growth before", "growth after", "95 % interval of the change",
                "change found in"},
      .right = {true, true, true, true, true, false}};
  for (const Decay& d : decays) {
    const auto sides = found.front().growth.sides(d.step);
    const auto interval = rank_sum_interval(sides.before, sides.after);
    std::string where;
    for (const Found& f : found) {
      const auto change = std::ranges::find_if(f.changes, [&](const auto& c) { return is_at(c, d); });
      if (change == f.changes.end()) continue;
      where += (where.empty() ? "" : ", ") + f.group + (change->of_pace ? " (pace)" : "");
    }
    out.rows.push_back(
        {whole(d.step), step_text(d), sides.before.empty() ? Cell("-") : growth_cell(median(sides.before)),
            sides.after.empty() ? Cell("-") : growth_cell(median(sides.after)),
            interval ? Cell(fixed("%+.3g to %+.3g %%", interval->low * 1e5, interval->high * 1e5), interval->low * 1e5,
                           interval->high * 1e5, "% per 1000 steps")
                     : Cell("-"),
            where.empty() ? "none" : where});
  }
  return out;
}

Table elsewhere(const std::vector<Found>& found, const std::vector<Decay>& decays) {
  Table out{.header = {"step", "group", "growth before", "growth after", "jump of the norm"},
      .right = {true, false, true, true, true}};
  for (const Found& f : found) {
    for (const auto& c : f.changes)
      if (std::none_of(decays.begin(), decays.end(), [&](const Decay& d) { return is_at(c, d); }))
        out.rows.push_back(
            {whole(c.step), f.group + (c.of_pace ? " (pace)" : ""), growth_cell(c.before), growth_cell(c.after), "-"});
    for (const auto& j : f.growth.jumps())
      out.rows.push_back(
          {whole(j.step), f.group, "-", "-", Cell(fixed("%+.2f %%", 100 * j.relative), 100 * j.relative, "%")});
  }
  return out;
}

void add_growth(const RunRecord& r, const std::string& name, Document& d) {
  const TelemetrySeries& t = *r.telemetry;
  const std::vector<Decay> fell = decays(r.steps);
  const std::vector<Found> found = find_changes(t);
  if (found.empty()) return;
  d.push_back(Heading{name + ": growth of the weight norms"});
  if (found.front().growth.window() == 0) {
    d.push_back(
        Paragraph{"Too few samples: a change needs " + std::to_string(3 * WeightGrowth::kFewest + 1) + ", there are " +
                  std::to_string(t.size()) + ". Lower train.telemetry.every_steps or train longer."});
    return;
  }
  if (fell.empty()) d.push_back(Paragraph{"The learning rate did not fall from one step to the next in this run."});
  else d.push_back(at_decays(found, fell));
  Table rest = elsewhere(found, fell);
  d.push_back(Paragraph{rest.rows.empty() ? "Nowhere else did the growth change, and no norm jumped."
                                          : "Changes elsewhere, and jumps of a norm itself:"});
  if (!rest.rows.empty()) d.push_back(std::move(rest));
}

void add_noise(const TelemetrySeries& t, const std::string& name, Document& d) {
  if (!t.noise) return;
  d.push_back(Heading{name + ": gradient noise scale"});
  if (const auto scale = noise_scale(t)) d.push_back(noise_table(*t.noise, *scale));
  else
    d.push_back(Paragraph{
        "The mean gradient is lost in its noise: its square is not shown to be above 0. Train longer, or compare with "
        "a larger batch."});
}

void add_norms_of(const NamedRun& run, Document& d) {
  const TelemetrySeries& t = *run.record.telemetry;
  d.push_back(Heading{run.name});
  if (t.size() == 0) {
    d.push_back(Paragraph{"No step was sampled: the run ended before its first. Run it again, to its end."});
    return;
  }
  double training_s = 0;
  for (const double s : run.record.steps.step_s) training_s += s;
  const double cost_s = sum(t.cost_s);
  std::string text = std::to_string(t.size()) + " samples, one every " + std::to_string(t.every_steps) +
                     " steps. A sample cost " + short_time(median(t.cost_s));
  if (training_s > 0) text += fixed(" (median); all together %.2f %% of training", 100 * cost_s / training_s);
  d.push_back(Paragraph{text + "."});
  d.push_back(groups(t));
  if (!t.groups.front().reductions.empty()) {
    d.push_back(Heading{run.name + ": reductions"});
    d.push_back(reductions(t));
  }
  Table heads = ratios(t);
  if (!heads.rows.empty()) {
    d.push_back(Heading{run.name + ": gradient norms of the heads"});
    d.push_back(std::move(heads));
  }
  add_noise(t, run.name, d);
  add_growth(run.record, run.name, d);
  if (auto split = split_table(run.record)) {
    d.push_back(Heading{run.name + ": what makes the weight norms grow"});
    d.push_back(std::move(*split));
  }
}

}  // namespace

std::optional<NormRatio> norm_ratio(const RunRecord& run, const std::string& above, const std::string& below) {
  return run.telemetry ? ratio_of(*run.telemetry, above, below) : std::nullopt;
}

std::optional<bool> breaks_at_decay(const RunRecord& run) {
  const std::vector<Decay> fell = decays(run.steps);
  if (fell.empty() || !run.telemetry || run.telemetry->size() == 0) return std::nullopt;
  const std::vector<Found> found = find_changes(*run.telemetry);
  if (found.empty() || found.front().growth.sides(fell[0].step).before.empty()) return std::nullopt;
  const auto breaks = [&](const Found& f) {
    return std::ranges::any_of(f.changes, [&](const WeightGrowth::Change& c) { return is_at(c, fell[0]); });
  };
  const auto groups = std::span(found).subspan(1);
  return breaks(found.front()) || (!groups.empty() && 2 * std::ranges::count_if(groups, breaks) >= std::ssize(groups));
}

std::optional<NormRatio> norm_ratio(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i)
    if (above[i] > 0 && below[i] > 0) logs.push_back(std::log(above[i] / below[i]));
  if (logs.empty()) return std::nullopt;
  const std::size_t n = logs.size(), third = std::max<std::size_t>(1, n / 3);
  NormRatio r{.median = std::exp(median(logs)),
      .first = std::exp(median({logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(third)})),
      .last = std::exp(median({logs.end() - static_cast<std::ptrdiff_t>(third), logs.end()}))};
  if (n < kBlocks) return r;
  std::vector<double> blocks;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const std::size_t begin = b * n / kBlocks, end = (b + 1) * n / kBlocks;
    double block = 0;
    for (std::size_t i = begin; i < end; ++i) block += logs[i];
    blocks.push_back(block / static_cast<double>(end - begin));
  }
  r.interval = signed_rank_interval(blocks);
  if (r.interval) *r.interval = {std::exp(r.interval->estimate), std::exp(r.interval->low), std::exp(r.interval->high)};
  return r;
}

std::string why_no_telemetry(const NamedRun& run) {
  return run.record.telemetry
             ? ""
             : "It holds no telemetry: none was asked for. Run again with --set train.telemetry.folder=FOLDER.";
}

Document telemetry(const std::vector<NamedRun>& runs) {
  Document d;
  for (const NamedRun& run : runs) add_norms_of(run, d);
  return d;
}

static std::function<int()> declare_telemetry(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  add_files(command, *a, "Result files of runs with train.telemetry.folder");
  add_output_options(command, a->output);
  command.footer("Example: report telemetry run.json");
  return [a] {
    Runs all = read_runs(*a);
    leave_out(all, why_no_telemetry);
    if (!all.runs.empty()) print(telemetry(all.runs), a->output);
    return all.exit_code;
  };
}

const Command kTelemetry = {"telemetry",
    "Norms of gradients and weights by groups of layers, the heads' ratio, and what a fall of the learning rate did to "
    "the weights",
    declare_telemetry};

}  // namespace ttt::reports
