#include "cards.h"

#include <algorithm>

#include "core/text.h"
#include "findings.h"
#include "reports/claims.h"
#include "result/techniques.h"

namespace ttt::ablations {
namespace {

namespace fs = std::filesystem;
using result::Comparison;
using result::fixed;
using result::joined;
using Systems = std::map<std::string, std::vector<Source>>;

std::string result_link(const Source& s) {
  return link(s.file.filename().string(), "../../results/" + s.file.generic_string());
}

// One comparison of one system, where it has an interval.
struct Gain {
  std::string system;
  const Source* source = nullptr;
  const Comparison* comparison = nullptr;
  Interval effect;

  bool is_faster() const { return effect.high < 0; }
  bool is_slower() const { return effect.low > 0; }
  std::string finding() const { return is_faster() ? "faster" : is_slower() ? "slower" : "no difference shown"; }
};

std::vector<Gain> gains_of(const std::string& ablation, const Systems& systems) {
  std::vector<Gain> out;
  for (const auto& [system, sources] : systems)
    if (const Source* s = speaker(sources, ablation))
      for (const Comparison* c : rows_of(*s, ablation))
        if (const auto e = result::measured_effect(*c)) out.push_back({system, s, c, *e});
  return out;
}

// "On SYSTEM: VARIANT (up to -34 %)" for each system, the largest effect first.
std::string sum_up(const std::vector<Gain>& gains, bool faster) {
  std::map<std::string, std::vector<const Gain*>> by_system;
  for (const Gain& g : gains)
    if (faster ? g.is_faster() : g.is_slower()) by_system[g.system].push_back(&g);
  std::vector<std::string> parts;
  for (auto& [system, all] : by_system) {
    const auto strongest = *std::max_element(all.begin(), all.end(),
        [](const Gain* a, const Gain* b) { return std::abs(a->effect.estimate) < std::abs(b->effect.estimate); });
    parts.push_back(system + ": " + result::variant_text(*strongest->comparison) + " " +
                    interval_text(strongest->effect) + (all.size() > 1 ? fixed(", and %zu more", all.size() - 1) : ""));
  }
  return parts.empty() ? "nowhere shown" : joined(parts, "; ");
}

std::string gains_table(const std::vector<Gain>& gains) {
  std::string out =
      "| system | variant, setting | change of the time | finding | result |\n| --- | --- | --- | --- | --- |\n";
  for (const Gain& g : gains)
    out += "| " + g.system + " | " + result::variant_text(*g.comparison) + " | " + interval_text(g.effect) + " | " +
           g.finding() + " | " + result_link(*g.source) + " |\n";
  return out;
}

std::string not_measured(const std::string& ablation, const Systems& systems) {
  std::vector<std::string> lines;
  for (const auto& [system, sources] : systems) {
    const Source* s = speaker(sources, ablation);
    if (!s) {
      lines.push_back("- " + system + ": not run.\n");
      continue;
    }
    std::map<std::string, std::vector<std::string>> names;  // by reason
    for (const Comparison* c : rows_of(*s, ablation))
      if (c->status != "measured") names[c->reason].push_back(result::variant_text(*c));
    for (const auto& [reason, all] : names)
      lines.push_back("- " + system + ": " + joined(all, "; ") + " not measured: " + reason +
                      (reason.ends_with(".") ? "\n" : ".\n"));
  }
  return joined(lines, "");
}

std::string trainings_section(const std::string& ablation, const Systems& systems) {
  std::string out;
  for (const auto& [system, sources] : systems)
    for (const Source& s : sources)
      if (const std::string text = trainings_text(s, ablation); !text.empty())
        out += "- " + system + ", " + result_link(s) + ": " + text + "\n";
  return out.empty() ? "" : "\n## On the way to the target\n\n" + out;
}

// Comparisons of combinations that the technique is part of.
std::string combinations_section(const std::string& ablation, const Systems& systems) {
  std::string out;
  for (const auto& [system, sources] : systems)
    for (const Source& s : sources)
      for (const Comparison& c : s.record.comparisons) {
        const bool is_part = std::find(c.factors.begin(), c.factors.end(), ablation) != c.factors.end();
        if (c.design == "one_off" || c.design == "null" || !is_part) continue;
        if (const auto e = result::measured_effect(c))
          out += "- " + system + ", " + c.design + ": " + joined(c.factors, " with ") + " " + interval_text(*e) + ", " +
                 result_link(s) + "\n";
      }
  return "\n## With other techniques\n\n" + (out.empty() ? "No combination was measured.\n" : out);
}

std::string claims_section(const std::string& ablation, const std::vector<reports::Judgement>& judgements) {
  std::string out;
  for (const reports::Judgement& j : judgements) {
    const auto& checks = j.claim->checks;
    if (std::none_of(checks.begin(), checks.end(), [&](const auto& c) { return c.ablation == ablation; })) continue;
    out += fixed("- Claim %lld: \"", static_cast<long long>(j.claim->number)) + j.claim->words +
           "\" Verdict: " + std::string(result::detail::word_of(j.verdict)) + ".\n";
  }
  return out;
}

std::string command_of(const Ablation& a) {
  constexpr int kMany = 64;
  const bool trains = a.trains(), on_ranks = !a.unsupported({.ranks = 1, .cores = kMany, .device = "cuda"}).empty(),
             on_device = !a.unsupported({.ranks = kMany, .cores = kMany, .nodes = kMany, .device = "cpu"}).empty();
  return std::string(trains || on_ranks ? "mpirun -n 2 --bind-to none " : "") + "build/bin/ablate " +
         (trains ? "--recipe mini " : "") + a.name + (on_device ? " --device cuda" : "") + " --out results/" + a.name +
         ".json";
}

std::string card(const Ablation& a, const Systems& systems, const std::vector<reports::Judgement>& judgements) {
  const std::vector<Gain> gains = gains_of(a.name, systems);
  std::vector<std::string> variants;
  for (std::size_t i = 1; i < a.variants.size(); ++i) variants.push_back(a.variants[i].name);
  std::string out = "# " + a.name + "\n\n" + a.question + "\n\n";
  out += "- **Helps**: " + sum_up(gains, true) + ".\n- **Hurts**: " + sum_up(gains, false) + ".\n";
  out += "- **Expected**: " + a.expectation + "\n";
  out += "- **Published**: " + claim_text(a) + "\n";
  out += claims_section(a.name, judgements);
  out += "- **Compared**: " + a.variants[0].name + " with " + joined(variants, "; ") + ". Losses: " + promise_text(a) +
         ".\n- **Code**: " + link(a.file, "../../benchmarks/ablations/" + a.file) + "\n\n";
  out += "    " + command_of(a) + "\n\n## Gain\n\n";
  if (!gains.empty())
    out += "Change of the time of a step, or of the operation alone, with its 95 % interval. Negative: faster than " +
           a.variants[0].name + ".\n\n" + gains_table(gains);
  if (const std::string rest = not_measured(a.name, systems); !rest.empty()) out += (gains.empty() ? "" : "\n") + rest;
  out += trainings_section(a.name, systems) + combinations_section(a.name, systems);
  return out + "\n`build/bin/ablate --cards results docs/techniques` writes this page. Do not edit it.\n";
}

}  // namespace

std::map<std::string, std::string> cards(const std::vector<Ablation>& ablations, const fs::path& results) {
  const Systems systems = read_systems(results);
  std::vector<reports::NamedRun> runs;
  for (const auto& [system, sources] : systems)
    for (const Source& s : sources) runs.push_back({s.file.generic_string(), s.record});
  const reports::Ledger ledger = reports::read_ledger(results);
  const auto judgements = reports::judge(ledger, runs);
  std::map<std::string, std::string> out;
  for (const Ablation& a : ablations)
    if (!a.is_self_test()) out[a.name] = card(a, systems, judgements);
  return out;
}

}  // namespace ttt::ablations
