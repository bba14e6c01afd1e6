#include "index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/text.h"
#include "result/exchange.h"
#include "result/result_file.h"

namespace ttt::ablations {
namespace {

namespace fs = std::filesystem;
using result::Comparison;
using result::fixed;
using result::joined;

constexpr const char* kLineBreak = "<br>";  // in a cell of Markdown

struct Source {
  fs::path file;  // below the folder of results
  std::int64_t ranks = 0;
  result::RunRecord record;
};

std::vector<fs::path> sorted(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::map<std::string, std::vector<Source>> read_systems(const fs::path& results) {
  if (!fs::is_directory(results))
    throw UsageError("There is no folder '" + results.string() + "'. Name one that holds SYSTEM/FOLDER/FILE.json.");
  std::map<std::string, std::vector<Source>> systems;
  for (const fs::path& system : sorted(results)) {
    if (!fs::is_directory(system)) continue;
    for (const fs::path& folder : sorted(system)) {
      if (folder.filename().string().find("_ablate_") == std::string::npos) continue;
      for (const fs::path& file : sorted(folder)) {
        if (file.extension() != ".json") continue;
        Source s{.file = file.lexically_relative(results), .record = result::read_result(file)};
        s.ranks = s.record.system.value("world_size", std::int64_t{1});
        systems[system.filename().string()].push_back(std::move(s));
      }
    }
  }
  return systems;
}

std::vector<const Comparison*> rows_of(const Source& source, const std::string& ablation) {
  std::vector<const Comparison*> out;
  for (const Comparison& c : source.record.comparisons)
    if (c.ablation == ablation && c.design == "one_off") out.push_back(&c);
  return out;
}

const result::ConvergenceRow* trainings_of(const Source& source, const std::string& ablation) {
  for (const result::ConvergenceRow& row : source.record.convergence)
    if (row.ablation == ablation) return &row;
  return nullptr;
}

// The result that speaks for a system: one that measured the ablation, of the fewest ranks, from the newest folder, the
// first by name. Nothing where the ablation was not run.
const Source* speaker(const std::vector<Source>& sources, const std::string& ablation) {
  const Source* best = nullptr;
  std::tuple<bool, std::int64_t, std::string> best_key;
  for (const Source& s : sources) {
    const auto rows = rows_of(s, ablation);
    if (rows.empty() && !trainings_of(s, ablation)) continue;
    const auto is_measured = [](const Comparison* c) { return c->status == "measured"; };
    const bool measured = rows.empty() || std::any_of(rows.begin(), rows.end(), is_measured);
    const std::tuple key{measured, -s.ranks, s.file.parent_path().filename().string()};
    if (!best || key > best_key) best = &s, best_key = key;
  }
  return best;
}

std::string interval_text(const Interval& e) {
  return fixed("%+.1f %% (%+.1f to %+.1f)", 100 * e.estimate, 100 * e.low, 100 * e.high);
}

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

// Steps to equal accuracy of each variant; of earlier results the least and the most epochs to the target.
std::string trainings_text(const result::ConvergenceRow& row) {
  std::map<std::string, std::vector<double>> epochs;
  for (const result::Training& t : row.trainings) epochs[t.variant].push_back(t.epochs);
  std::vector<std::string> parts;
  for (const auto& [variant, all] : epochs) {
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    if (!row.fixed_steps) {
      parts.push_back(fixed("%s: %.2f to %.2f epochs (%zu seeds)", variant.c_str(), *least, *most, all.size()));
    } else if (variant != row.baseline) {
      const auto e = result::exchange(row, variant);
      parts.push_back(variant + (e ? ": steps to equal accuracy " + interval_text(e->steps) : ": too few trainings"));
    }
  }
  return joined(parts, kLineBreak);
}

std::string finding(const Source& source, const Ablation& ablation) {
  if (const result::ConvergenceRow* row = trainings_of(source, ablation.name)) return trainings_text(*row);
  const auto rows = rows_of(source, ablation.name);
  return ablation.repetitions > 1 ? repetitions_text(rows) : comparisons_text(rows);
}

std::string promise_text(const Ablation& a) {
  if (a.promise != Promise::kClose) return promise_name(a.promise);
  return fixed("close, %.0e", a.rtol);
}

std::string claim_text(const Ablation& a) {
  if (a.claim.empty() || (a.source.empty() && a.claim != "none known"))
    throw UsageError("The ablation '" + a.name + "' names no published claim with its source. " +
                     "Fill in `claim` and `source`, or write \"none known\".");
  return a.source.empty() ? a.claim : a.claim + " (" + a.source + ")";
}

std::string link(const std::string& text, const std::string& to) { return "[" + text + "](" + to + ")"; }

constexpr const char* kHead =
    "# Techniques and what they are worth\n\n"
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
    out.append("| ").append(a.name).append(" | ").append(claim_text(a)).append(" | ").append(link(a.file, a.file));
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
