#include "result/figures.h"

#include <algorithm>
#include <cctype>

#include "core/text.h"
#include "result/time_factors.h"

namespace ttt::result {
namespace {

// Rates of peaks are said in billions.
constexpr double kGiga = 1e9;
constexpr std::string_view kInterrupted = "Interrupted";  // how the reason of every such run begins

void add_training(const RunRecord& r, std::vector<Figure>& all) {
  if (r.verdict == Verdict::kPassed && reaching_evaluation(r)) {
    const TimeFactors f = time_factors(r);
    all.push_back({"time_to_target", f.time_to_target_s, "s"});
    if (f.epochs > 0) {
      all.push_back({"epochs_to_target", f.epochs, "epochs"});
      all.push_back({"samples_to_target", f.images, "images"});
    }
    if (f.crossing) {
      all.push_back({"time_to_crossing", f.time_to_crossing_s, "s"});
      all.push_back({"epochs_to_crossing", f.crossing->epochs.estimate, "epochs"});
    }
  }
  if (const auto rate = training_rate(r)) all.push_back({"images_per_second", *rate, "images/s"});
  if (r.accuracy.empty() || !r.target) return;
  for (const Metric& m : bounded(r.accuracy.back().metrics, *r.target))
    all.push_back({target_name(m.name), m.value, "score"});
}

void add_comparisons(const RunRecord& r, std::vector<Figure>& all) {
  for (const Comparison& c : r.comparisons)
    if (const auto e = effect(c.samples); e && c.status == "measured")
      all.push_back({c.ablation + "." + c.variant + (c.setting.empty() ? "" : "." + c.setting) +
                         (c.repetition > 0 ? "." + std::to_string(c.repetition + 1) : ""),
          100 * e->estimate, "%"});
  for (Figure& f : all)
    std::replace_if(
        f.name.begin(), f.name.end(), [](unsigned char x) { return !std::isalnum(x) && x != '.'; }, '_');
}

void add_checks(const RunRecord& r, std::vector<Figure>& all) {
  for (const char* status : {"failed", "warning"})
    if (!r.checks.empty())
      all.push_back({std::string("checks_") + status,
          static_cast<double>(
              std::count_if(r.checks.begin(), r.checks.end(), [&](const Check& c) { return c.status == status; })),
          "checks"});
}

}  // namespace

std::vector<Figure> figures_of(const RunRecord& r) {
  std::vector<Figure> all;
  add_comparisons(r, all);
  add_training(r, all);
  for (const Peak& p : r.peaks)
    if (!p.samples.empty())
      all.push_back({p.name, *std::max_element(p.samples.begin(), p.samples.end()) / kGiga, "G" + p.unit});
  add_checks(r, all);
  return all;
}

std::string figure_line(const Figure& f) { return fixed("FOM %s: %.6g %s", f.name.c_str(), f.value, f.unit.c_str()); }

std::string headline(const RunRecord& r) {
  if (r.reason.starts_with(kInterrupted)) return "INTERRUPTED" + r.reason.substr(kInterrupted.size());
  std::string text = verdict_title(r.verdict);
  if (r.verdict == Verdict::kPassed && reaching_evaluation(r))
    text += fixed(" in %.1f s", time_factors(r).time_to_target_s);
  if (!r.reason.empty()) text += ": " + r.reason;
  if (const auto rate = training_rate(r); rate && verdict_exit_code(r.verdict) == 0)
    text += fixed("; %.1f images/s", *rate);
  return text;
}

std::string report_command(const RunRecord& r) {
  return r.comparisons.empty() && r.convergence.empty() && r.batch_ladders.empty() ? "show" : "ablations";
}

std::string grouped_digits(std::int64_t n) {
  const std::string digits = std::to_string(n);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > (n < 0 ? 1u : 0u) && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

}  // namespace ttt::result
