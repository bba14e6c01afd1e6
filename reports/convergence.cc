#include "reports/convergence.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "reports/numbers.h"

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
    row[2] = Cell(fixed("%.2f", median(epochs)) + " (" + fixed("%.2f", *least) + " to " + fixed("%.2f", *most) + ")",
        median(epochs));
    row[2].values.insert(row[2].values.end(), {*least, *most});
    row[3] = Cell(fixed("%.1f s", median(seconds)), median(seconds), "s");
  }
  if (variant == all.baseline) row.insert(row.end(), {"", "", "the baseline"});
  else add_change(row, baseline, trainings);
  return row;
}

// In the order of their first training.
std::vector<std::string> variants_of(const ConvergenceRow& row) {
  std::vector<std::string> variants;
  for (const Training& training : row.trainings)
    if (std::find(variants.begin(), variants.end(), training.variant) == variants.end())
      variants.push_back(training.variant);
  return variants;
}

}  // namespace

std::vector<result::Remark> convergence_remarks(const result::RunRecord& record) {
  std::vector<result::Remark> out;
  for (const ConvergenceRow& all : record.convergence) {
    const Row baseline = variant_row(all, all.baseline);
    for (const std::string& variant : variants_of(all)) {
      if (variant == all.baseline) continue;
      const Row row = variant_row(all, variant);
      out.push_back({all.ablation, variant + " " + row[2].text + " epochs to target, " + all.baseline + " " +
                                       baseline[2].text + ": " + row[4].text + " (" + row[5].text + "), " +
                                       row[6].text + "; reached by " + row[1].text + " and " + baseline[1].text});
    }
  }
  return out;
}

Document convergence_blocks(const result::RunRecord& record) {
  Document d;
  for (const ConvergenceRow& row : record.convergence) {
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
