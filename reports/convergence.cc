#include "reports/convergence.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "reports/numbers.h"
#include "result/exchange.h"

namespace ttt::reports {
namespace {

using result::ConvergenceRow;
using result::Training;

std::vector<Training> of_variant(const ConvergenceRow& row, const std::string& variant) {
  std::vector<Training> out;
  std::copy_if(row.trainings.begin(), row.trainings.end(), std::back_inserter(out),
      [&](const Training& t) { return t.variant == variant; });
  return out;
}

std::vector<double> log_epochs(const std::vector<Training>& trainings) {
  std::vector<double> out;
  for (const Training& t : trainings) out.push_back(std::log(t.epochs));
  return out;
}

// Of trainings that all reached the target: one that did not would count as if it had at its last epoch.
void add_change(Row& row, const std::vector<Training>& baseline, const std::vector<Training>& trainings) {
  const auto reached = [](const std::vector<Training>& t) {
    return std::all_of(t.begin(), t.end(), [](const Training& x) { return x.reached; });
  };
  const auto shift = reached(baseline) && reached(trainings)
                         ? rank_sum_interval(log_epochs(baseline), log_epochs(trainings))
                         : std::nullopt;
  if (!shift) {
    row.insert(row.end(), {"-", "-", "too few trainings, or not all reached the target"});
    return;
  }
  const Interval e{std::expm1(shift->estimate), std::expm1(shift->low), std::expm1(shift->high)};
  const std::string ends = fixed("%+.0f %%", 100 * e.low) + " to " + fixed("%+.0f %%", 100 * e.high);
  row.insert(
      row.end(), {{fixed("%+.0f %%", 100 * e.estimate), 100 * e.estimate, "%"}, {ends, 100 * e.low, 100 * e.high, "%"},
                     e.high < 0  ? "fewer epochs"
                     : e.low > 0 ? "more epochs"
                                 : "no difference shown at this precision"});
}

Row variant_row(const ConvergenceRow& all, const std::string& variant) {
  const std::vector<Training> trainings = of_variant(all, variant), baseline = of_variant(all, all.baseline);
  std::vector<double> epochs, seconds;
  for (const Training& t : trainings)
    if (t.reached) epochs.push_back(t.epochs), seconds.push_back(t.seconds);
  Row row = {variant, std::to_string(epochs.size()) + " of " + std::to_string(trainings.size()), "-", "-"};
  if (!epochs.empty()) {
    const auto [least, most] = std::minmax_element(epochs.begin(), epochs.end());
    row[2] =
        interval_cell(fixed("%.2f (%.2f to %.2f)", median(epochs), *least, *most), {median(epochs), *least, *most});
    row[3] = Cell(fixed("%.1f s", median(seconds)), median(seconds), "s");
  }
  if (variant == all.baseline) row.insert(row.end(), {"", "", "the baseline"});
  else add_change(row, baseline, trainings);
  return row;
}

// "+3.1 % (+1.2 to +5.0)"
std::string change_text(const Interval& i) {
  return fixed("%+.1f %%", 100 * i.estimate) + fixed(" (%+.1f to %+.1f)", 100 * i.low, 100 * i.high);
}

Cell change_cell(const Interval& i) {
  return interval_cell(change_text(i), {100 * i.estimate, 100 * i.low, 100 * i.high}, "%");
}

// Of the whole steps that the same result timed.
std::optional<Interval> step_time(
    const result::RunRecord& record, const ConvergenceRow& row, const std::string& variant) {
  for (const result::Comparison& c : record.comparisons)
    if (c.ablation == row.ablation && c.variant == variant && c.design == "one_off" && c.setting.empty() &&
        c.status == "measured")
      return result::effect(c.samples);
  return std::nullopt;
}

// Both factors of the time: independent, so the distances of their ends add up as squares in the logarithm.
Interval product(const Interval& a, const Interval& b) {
  const auto log = [](double change) { return std::log1p(change); };
  const double middle = log(a.estimate) + log(b.estimate);
  const double down = std::hypot(log(a.estimate) - log(a.low), log(b.estimate) - log(b.low)),
               up = std::hypot(log(a.high) - log(a.estimate), log(b.high) - log(b.estimate));
  return {std::expm1(middle), std::expm1(middle - down), std::expm1(middle + up)};
}

std::string steps_finding(const Interval& steps) {
  return steps.high < 0 ? "fewer steps" : steps.low > 0 ? "more steps" : "no difference shown at this precision";
}

Row exchange_row(const result::RunRecord& record, const ConvergenceRow& row, const std::string& variant) {
  Row cells = {variant};
  const auto e = result::exchange(row, variant);
  if (!e) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-", result::no_exchange_text(row, variant)});
    return cells;
  }
  std::vector<std::string> accuracies;
  for (const auto& [name, change] : e->metrics)
    accuracies.push_back(result::metric_title(name) + fixed(" %+.3f", change.estimate) +
                         fixed(" (%+.3f to %+.3f)", change.low, change.high));
  const auto time = step_time(record, row, variant);
  cells.insert(
      cells.end(), {std::to_string(e->pairs), result::joined(accuracies), change_cell(e->steps),
                       time ? change_cell(*time) : Cell("-"), time ? change_cell(product(*time, e->steps)) : Cell("-"),
                       percent(e->detectable), steps_finding(e->steps)});
  return cells;
}

// In the order of their first training.
std::vector<std::string> variants_of(const ConvergenceRow& row) {
  std::vector<std::string> variants;
  for (const Training& training : row.trainings)
    if (std::find(variants.begin(), variants.end(), training.variant) == variants.end())
      variants.push_back(training.variant);
  return variants;
}

// "bf16: step -7.0 % (...), steps to equal accuracy +4.2 % (...), time to target -3.1 % (...), 12 pairs"
std::string exchange_text(const result::RunRecord& record, const ConvergenceRow& row, const std::string& variant) {
  const auto e = result::exchange(row, variant);
  if (!e) return variant + ": " + result::no_exchange_text(row, variant);
  const auto time = step_time(record, row, variant);
  return variant + " against " + row.baseline + ": " + (time ? "step " + change_text(*time) + ", " : "") +
         "steps to equal accuracy " + change_text(e->steps) +
         (time ? ", time to target " + change_text(product(*time, e->steps)) : "") + ", " +
         result::counted(e->pairs, "pair") + ": " + steps_finding(e->steps) +
         fixed("; %.1f %% would be found in 9 of 10", 100 * e->detectable);
}

// "initialisation", or "initialisation x learning_rate"
Table factor_table(const ConvergenceRow& row) {
  Table t{.header = {"factor", "n", "steps to equal accuracy", "finding"}, .right = {false, true, true, false}};
  for (const result::FactorEffect& e : result::factor_effects(row)) {
    const bool shown = e.steps.low > 0 || e.steps.high < 0;
    t.rows.push_back({result::joined(e.factors, " x "), whole(static_cast<std::int64_t>(e.seeds)), change_cell(e.steps),
        e.factors.size() == 1 ? steps_finding(e.steps)
        : shown               ? "they interact"
                              : "no interaction shown"});
  }
  return t;
}

// "Trainings of 4 epochs each", or "Trainings of 0.6, 0.8, 1 epochs, evaluated at their ends"
std::string lengths_text(const ConvergenceRow& row) {
  if (!row.ends.empty()) {
    std::vector<std::string> ends;
    for (const double epochs : row.ends) ends.push_back(fixed("%.3g", epochs));
    return "Trainings of " + result::joined(ends) + " epochs, evaluated at their ends";
  }
  const double epochs = row.trainings.empty() ? 0 : row.trainings[0].epochs;
  return "Trainings of " + fixed("%.3g", epochs) + (epochs == 1 ? " epoch" : " epochs") + " each";
}

void add_exchange(const result::RunRecord& record, const ConvergenceRow& row, Document& d) {
  d.push_back(Heading{row.ablation + ": " + row.question});
  d.push_back(Paragraph{"Expected: " + row.expectation + " " + lengths_text(row) +
                        ", whatever they reach, from the same seeds" + (row.side_by_side ? ", one on each rank" : "") +
                        (row.averaged ? ", by averages of the weights" : "") +
                        ". Target: " + result::metrics_text(row.target, 3) + "."});
  if (!row.problem.empty()) d.push_back(Paragraph{"Ended early: " + row.problem});
  Table t{.header = {"variant", "pairs", "change of accuracy", "steps to equal accuracy", "step time",
              "time to equal accuracy", "would be found", "finding"},
      .right = {false, true, false, true, true, true, true, false}};
  for (const std::string& variant : variants_of(row))
    if (variant != row.baseline) t.rows.push_back(exchange_row(record, row, variant));
  d.push_back(std::move(t));
  if (row.combinations.empty()) return;
  d.push_back(Paragraph{"Main effects of the factors, and their interactions:"});
  d.push_back(factor_table(row));
}

}  // namespace

std::vector<result::Remark> convergence_remarks(const result::RunRecord& record) {
  std::vector<result::Remark> out;
  for (const ConvergenceRow& all : record.convergence) {
    if (all.fixed_steps) {
      for (const std::string& variant : variants_of(all))
        if (variant != all.baseline) out.push_back({all.ablation, exchange_text(record, all, variant)});
      continue;
    }
    const Row baseline = variant_row(all, all.baseline);
    for (const std::string& variant : variants_of(all)) {
      if (variant == all.baseline) continue;
      const Row row = variant_row(all, variant);
      const std::string change = row[4].text + " (" + row[5].text + ")";
      const bool is_alike = row[6].text.starts_with("no difference");
      out.push_back({all.ablation, is_alike ? "no difference shown in epochs to target, " + variant + " " + change
                                            : variant + " " + row[2].text + " epochs to target, " + all.baseline + " " +
                                                  baseline[2].text + ": " + change + ", " + row[6].text});
    }
  }
  return out;
}

Document convergence_blocks(const result::RunRecord& record) {
  Document d;
  for (const ConvergenceRow& row : record.convergence) {
    if (row.fixed_steps) {
      add_exchange(record, row, d);
      continue;
    }
    d.push_back(Heading{row.ablation + ": " + row.question});
    d.push_back(
        Paragraph{"Expected: " + row.expectation + " Trainings to " + result::metrics_text(row.target, 3) +
                  ", evaluated every " + fixed("%.3g", row.eval_every_epochs) + " epochs, from the same seeds:"});
    Table t{.header = {"variant", "reached", "epochs to target", "time to target", "change of epochs", "95 % interval",
                "finding"},
        .right = {false, true, true, true, true, true, false}};
    for (const std::string& variant : variants_of(row)) t.rows.push_back(variant_row(row, variant));
    d.push_back(std::move(t));
  }
  return d;
}

}  // namespace ttt::reports
