#include "index.h"

#include <set>

#include "core/text.h"
#include "findings.h"

namespace ttt::ablations {
namespace {

namespace fs = std::filesystem;
using result::Comparison;
using result::joined;

// Of an ablation that tests the measuring: in how many repetitions a difference was shown.
std::string repetitions_text(const std::vector<const Comparison*>& rows) {
  std::size_t shown = 0;
  for (const Comparison* c : rows)
    if (const auto e = result::effect(c->samples); e && (e->low > 0 || e->high < 0)) ++shown;
  return "a difference shown in " + std::to_string(shown) + " of " + std::to_string(rows.size());
}

std::string comparisons_text(const std::vector<const Comparison*>& rows) {
  std::vector<std::string> lines, alike, not_measured;
  for (const Comparison* c : rows) {
    const std::string name = c->variant + (c->setting.empty() ? "" : ", " + c->setting);
    const auto e = c->status == "measured" ? result::effect(c->samples) : std::nullopt;
    if (!e) not_measured.push_back(name);
    else if (e->low <= 0 && e->high >= 0) alike.push_back(name + " " + interval_text(*e));
    else lines.push_back(name + " " + interval_text(*e) + (e->high < 0 ? " faster" : " slower"));
  }
  if (not_measured.size() == rows.size()) return "not measured: " + rows.front()->reason;
  if (!alike.empty()) lines.push_back("no difference shown: " + joined(alike, "; "));
  if (!not_measured.empty()) lines.push_back("not measured: " + joined(not_measured, "; "));
  return joined(lines, kLineBreak);
}

std::string finding(const Source& source, const Ablation& ablation) {
  if (std::string text = trainings_text(source, ablation.name); !text.empty()) return text;
  const auto rows = rows_of(source, ablation.name);
  return ablation.repetitions > 1 ? repetitions_text(rows) : comparisons_text(rows);
}

constexpr const char* kHead =
    "# Techniques and what they are worth\n\n"
    "A technique's name leads to its card.\n"
    "`build/bin/ablate --index results > benchmarks/ablations/README.md` writes this page. Do not edit it.\n\n"
    "`build/bin/ablate NAME --out RESULT.json` measures a row on your machine.\n"
    "`build/bin/report ablations RESULT.json` prints it. `--set device=cuda` measures on a GPU. [How it is "
    "measured](../../docs/ablations.md).\n\n"
    "A finding is the change of the time of a step, or of the operation alone, with its 95 % interval over builds.\n"
    "A negative change: the named variant is faster than the baseline. The baseline may be the technique itself.\n"
    "A promise says how closely the losses of both sides agree: bitwise, close (a relative bound) or other_work.\n"
    "A claim about GPUs is not refuted by a finding of a CPU. \"-\" means: not run there.\n\n";

}  // namespace

std::string markdown_index(const std::vector<Ablation>& ablations, const fs::path& results) {
  const auto systems = read_systems(results);
  std::string out = kHead, rule = "| --- | --- | --- | --- | --- |";
  out += "| technique | published claim (source) | file | promise | baseline |";
  for (const auto& [system, sources] : systems) out.append(" ").append(system).append(" |"), rule += " --- |";
  out.append("\n").append(rule).append("\n");
  std::map<std::string, std::set<std::string>> spoke;
  for (const Ablation& a : ablations) {
    out.append("| ")
        .append(a.is_self_test() ? a.name : link(a.name, "../../docs/techniques/" + a.name + ".md"))
        .append(" | ")
        .append(claim_text(a))
        .append(" | ")
        .append(link(a.file, a.file));
    out.append(" | ").append(promise_text(a)).append(" | ").append(a.variants[0].name).append(" |");
    for (const auto& [system, sources] : systems) {
      const Source* s = speaker(sources, a.name);
      if (s) spoke[system].insert(s->file.generic_string());
      out.append(" ").append(s ? finding(*s, a) : "-").append(" |");
    }
    out += "\n";
  }
  out += "\nResults:\n\n";
  for (const auto& [system, files] : spoke)
    for (const std::string& file : files) out.append("- ").append(link(file, "../../results/" + file)).append("\n");
  return out;
}

}  // namespace ttt::ablations
