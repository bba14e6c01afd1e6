#include "reports/batch_ladder.h"

#include <algorithm>

#include "reports/numbers.h"
#include "result/batch_ladder.h"

namespace ttt::reports {
namespace {

using result::BatchLadder;
using result::Rung;

Cell epochs_cell(const Rung& r) {
  if (r.epochs.empty()) return "-";
  const auto [least, most] = std::minmax_element(r.epochs.begin(), r.epochs.end());
  const double middle = median(r.epochs);
  return interval_cell(fixed("%.2f (%.2f to %.2f)", middle, *least, *most), {middle, *least, *most});
}

// "0.005 to 0.04 (8 times)"
Cell rates_cell(const Rung& r) {
  if (!r.rates) return "none";
  const auto& [best, low, high] = *r.rates;
  if (low == high) return fixed("%.3g", best);
  return {fixed("%.3g to %.3g (%.0f times)", low, high, high / low), low, high, ""};
}

Row rung_row(const Rung& r) {
  return {whole(r.batch), r.rates ? number("%.3g", r.rates->best) : Cell("-"), rates_cell(r),
      whole(static_cast<std::int64_t>(r.trials)), whole(static_cast<std::int64_t>(r.repeats)), epochs_cell(r)};
}

}  // namespace

Document ladder_blocks(const result::RunRecord& record) {
  Document d;
  for (const BatchLadder& ladder : record.batch_ladders) {
    d.push_back(Heading{ladder.ablation + ", " + ladder.variant + ": " + ladder.question});
    d.push_back(
        Paragraph{"Expected: " + ladder.expectation + " Trainings to " + result::metrics_text(ladder.target, 3) +
                  ". At each batch the rate is searched in powers of two, and the best is repeated from other "
                  "seeds." +
                  (ladder.continues.empty() ? "" : " Run " + ladder.continues + " made the first trainings.")});
    Table t{
        .header = {"batch", "learning rate", "rates that reach the target", "trials", "repeats", "epochs to target"},
        .right = std::vector<bool>(6, true)};
    for (const Rung& r : result::rungs(ladder)) t.rows.push_back(rung_row(r));
    d.push_back(std::move(t));
    d.push_back(Paragraph{"Of " + ladder.variant + ": " + result::critical_batch_text(ladder) + "."});
  }
  return d;
}

std::vector<result::Remark> ladder_remarks(const result::RunRecord& record) {
  std::vector<result::Remark> out;
  for (const BatchLadder& ladder : record.batch_ladders)
    out.push_back({ladder.ablation, ladder.variant + ": " + result::critical_batch_text(ladder)});
  return out;
}

}  // namespace ttt::reports
