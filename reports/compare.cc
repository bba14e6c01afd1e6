#include "reports/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "reports/ablations.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;

constexpr std::size_t kBlocks = 24;  // consecutive steps are alike: their blocks are nearly independent

// One row of numbers, each with its ratio to the first.
void add_row(Table& t, const std::vector<NamedRun>& runs, Label name, const char* form, const std::function<double(const RunRecord&)>& value) {
  Row row;
  const double first = value(runs[0].record);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double x = value(runs[i].record);
    row.push_back(x > 0 ? number(form, x) : Cell("-"));
    if (i > 0) row.push_back(x > 0 && first > 0 ? number("%.3f", x / first) : Cell("-"));
  }
  t.add(name, std::move(row));
}

void add_step_time(Table& t, const std::vector<NamedRun>& runs) {
  Row interval = {""}, finding = {""};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto [e, reason] = step_time_change(runs[0].record, runs[i].record);
    interval.push_back("");
    interval.push_back(e ? Cell(fixed("%.3f to %.3f", 1 + e->low, 1 + e->high), 1 + e->low, 1 + e->high, "") : Cell("none: " + reason));
    finding.push_back("");
    finding.push_back(e ? finding_text(*e) : "-");
  }
  t.add("95 % interval of its ratio", std::move(interval));
  t.add("finding", std::move(finding));
}

Table identity(const std::vector<NamedRun>& runs) {
  Table t{.header = {"", "file", "verdict", "ranks", "nodes", "commit", "recipe"}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& r = runs[i].record;
    t.rows.push_back({letters(i), runs[i].name, std::string(result::verdict_name(r.verdict)),
                      text_at(r.system, "world_size"), processor_text(r), text_at(r.provenance, "commit").substr(0, 10),
                      r.recipe.name + " " + r.recipe.sha256.substr(0, 12)});
  }
  return t;
}

// What makes the numbers less than comparable.
Table cautions(const std::vector<NamedRun>& runs) {
  Table t{.header = {"", "warning"}, .headless = true};
  const auto add = [&](const std::string& text) { t.rows.push_back({"!", text}); };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& r = runs[i].record;
    const std::string who = letters(i);
    const std::string verdict(result::verdict_name(r.verdict));
    if (!reaching_evaluation(r))
      add(who + (r.target ? " did not reach its target (" : " has no target (") + verdict + "): its time to target is that of the whole run.");
    else if (r.verdict != result::Verdict::kPassed)
      add(who + " reached its target, but ended as " + verdict + ".");
    if (r.provenance.value("dirty", false)) add(who + " was built from a tree with uncommitted changes.");
    if (i == 0) continue;
    const RunRecord& a = runs[0].record;
    const auto differ = [&](const std::string& what) { add("A and " + who + " differ in " + what + "."); };
    const auto differ_at = [&](const char* key, const std::string& x, const std::string& y) {
      if (x != y) differ(std::string(key) + ": " + x + " against " + y);
    };
    differ_at("steps.step_s.ranks (how step times were made of the ranks')", a.steps.step_ranks, r.steps.step_ranks);
    for (const std::string& d : setting_differences(a.recipe.settings, r.recipe.settings)) differ(d);
    differ_at("data.train_sha256 (other training images)", text_at(a.data, "train_sha256"), text_at(r.data, "train_sha256"));
  }
  return t;
}

}  // namespace

std::vector<std::string> setting_differences(const Json& a, const Json& b, const std::string& path) {
  if (a == b) return {};
  if (!a.is_object() || !b.is_object()) return {path + ": " + a.dump() + " against " + b.dump()};
  std::vector<std::string> out;
  const auto visit = [&](const std::string& key, const Json& x, const Json& y) {
    const auto inner = setting_differences(x, y, path.empty() ? key : path + "." + key);
    out.insert(out.end(), inner.begin(), inner.end());
  };
  for (const auto& [key, value] : a.items()) visit(key, value, b.contains(key) ? b.at(key) : Json());
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) visit(key, Json(), value);
  return out;
}

StepTimeChange step_time_change(const RunRecord& a, const RunRecord& b) {
  const auto none = [](std::string reason) { return StepTimeChange{std::nullopt, std::move(reason)}; };
  const std::size_t n = std::min(a.steps.size(), b.steps.size());
  if (n < kBlocks) return none("fewer than " + std::to_string(kBlocks) + " steps");
  if (text_at(a.data, "train_sha256") != text_at(b.data, "train_sha256")) return none("other data.train_sha256");
  if (text_at(a.recipe.settings, "seed") != text_at(b.recipe.settings, "seed")) return none("other seed");
  if (a.steps.step_ranks != b.steps.step_ranks) return none("other steps.step_s.ranks");
  std::vector<double> blocks;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::size_t begin = block * n / kBlocks, end = (block + 1) * n / kBlocks;
    double total = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (a.steps.step[i] != b.steps.step[i]) return none("other steps.step");
      if (a.steps.images[i] != b.steps.images[i]) return none("other steps.images");
      if (!(a.steps.step_s[i] > 0 && b.steps.step_s[i] > 0)) return none("a step without time");
      total += std::log(b.steps.step_s[i] / a.steps.step_s[i]);
    }
    blocks.push_back(total / static_cast<double>(end - begin));
  }
  auto e = signed_rank_interval(blocks);
  if (e) *e = {std::expm1(e->estimate), std::expm1(e->low), std::expm1(e->high)};
  return {e, ""};
}

Document compare(const std::vector<NamedRun>& runs) {
  if (runs.size() < 2) throw UsageError("A comparison needs at least two results that can be read. Name two files.");
  Document d = {Heading{"Comparison with A"}, identity(runs)};
  Table t{.header = {"", "A"}, .right = {false, true}};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::string who = letters(i);
    t.header.add_data(who), t.header.add_data(who + " / A");
    t.right.insert(t.right.end(), {true, true});
  }
  const auto factor = [](double TimeFactors::* member) { return [member](const RunRecord& r) { return time_factors(r).*member; }; };
  add_row(t, runs, "epochs [to target]", "%.2f", factor(&TimeFactors::epochs));
  add_row(t, runs, "x time per epoch [s]", "%.3f", factor(&TimeFactors::epoch_s));
  add_row(t, runs, "= training [s]", "%.3f", factor(&TimeFactors::training_s));
  add_row(t, runs, "evaluation [s]", "%.3f", factor(&TimeFactors::evaluation_s));
  add_row(t, runs, "start-up [s]", "%.3f", factor(&TimeFactors::startup_s));
  add_row(t, runs, "time to target [s]", "%.3f", factor(&TimeFactors::time_to_target_s));
  add_row(t, runs, "images/s of a step, median", "%.2f", [](const RunRecord& r) {
    const auto rates = step_rates(r);
    return rates.empty() ? 0.0 : median(rates);
  });
  add_row(t, runs, "time of a step, median [ms]", "%.2f", [](const RunRecord& r) { return r.steps.size() ? 1e3 * median(r.steps.step_s) : 0.0; });
  add_step_time(t, runs);
  d.push_back(std::move(t));
  Table warnings = cautions(runs);
  if (!warnings.rows.empty()) {
    d.push_back(Heading{"Before these numbers are compared"});
    d.push_back(std::move(warnings));
  }
  return d;
}

}  // namespace ttt::reports
