#include "reports/ablations.h"

#include <cmath>
#include <cstdio>
#include <map>

namespace ttt::reports {
namespace {

using result::Comparison;

std::string percent(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", 100 * x);
  return text;
}
std::string milliseconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f ms", 1e3 * s);
  return text;
}

std::string promise_text(const Comparison& c) {
  if (c.gate_steps == 0) return "not checked";
  if (c.promise == "other_work") return "no promise made";
  char text[96];
  if (c.promise == "bitwise") return c.status == "promise_broken" ? "bits: BROKEN" : "same bits, kept";
  std::snprintf(text, sizeof text, "%s%.0e, was %.0e", c.status == "promise_broken" ? "BROKEN: " : "within ", c.promised_difference, c.largest_difference);
  return text;
}

Row row(const Comparison& c) {
  const std::string variant = variant_text(c);
  const auto e = measured_effect(c);
  if (!e) return {variant, "-", "-", c.status == "measured" ? "too few rounds" : c.status + ": " + c.reason, "-", promise_text(c), ""};
  const auto pairs = static_cast<double>(c.samples.size());
  return {variant, {percent(e->estimate), 100 * e->estimate, "%"}, {percent(e->low) + " to " + percent(e->high), 100 * e->low, 100 * e->high, "%"},
          finding_text(*e), {std::to_string(c.samples.size()), pairs}, promise_text(c), cause_text(c)};
}

}  // namespace

std::string variant_text(const Comparison& c) {
  std::string text = c.variant;
  if (!c.setting.empty()) text.append(", ").append(c.setting);
  if (c.repetition > 0) text.append(" #").append(std::to_string(c.repetition + 1));
  return text;
}

std::optional<Interval> measured_effect(const Comparison& c) { return c.status == "measured" ? result::effect(c.samples) : std::nullopt; }

std::string finding_text(const Interval& e) {
  if (e.high < 0) return "faster";
  if (e.low > 0) return "slower";
  return "no difference shown at this precision";
}

std::string cause_text(const Comparison& c) {
  double total = 0, largest = 0;
  for (const auto& [phase, pair] : c.phases.items()) total += pair[1].get<double>() - pair[0].get<double>();
  std::string name;
  for (const auto& [phase, pair] : c.phases.items()) {
    const double change = pair[1].get<double>() - pair[0].get<double>();
    if (change * total > 0 && std::abs(change) > std::abs(largest)) largest = change, name = phase;  // only what goes the same way explains
  }
  return name.empty() ? "" : name + " " + milliseconds(largest) + " of " + milliseconds(total);
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
    d.push_back(Paragraph{"Expected: " + first.expectation + " Step time against '" + first.baseline + "':"});
    Table t{.header = {"variant", "step time", "95 % interval", "finding", "pairs", "numbers", "largest change of a phase"},
            .right = {false, true, true, false, true, false, false}};
    for (const Comparison* c : by_name[name]) t.rows.push_back(row(*c));
    d.push_back(std::move(t));
  }
  return d;
}

Document ablations(const std::vector<result::RunRecord>& records) {
  Document d;
  for (const result::RunRecord& r : records) {
    const auto nodes = r.system.find("nodes");
    const std::string cpu = nodes != r.system.end() && nodes->is_array() && !nodes->empty() ? (*nodes)[0].value("cpu", std::string()) : "";
    const std::string ranks = r.system.contains("world_size") ? r.system["world_size"].dump() : "an unknown number of";
    d.push_back(Paragraph{ranks + (ranks == "1" ? " rank, " : " ranks, ") + (cpu.empty() ? "unknown processor" : cpu) + ", recipe " +
                          r.recipe.name + ": " + std::string(result::verdict_name(r.verdict)) + ". " + r.reason});
    const Document rows = comparison_blocks(r);
    if (rows.empty()) d.push_back(Paragraph{"No comparisons: this is a result of kind " + r.kind + "."});
    d.insert(d.end(), rows.begin(), rows.end());
  }
  return d;
}

}  // namespace ttt::reports
