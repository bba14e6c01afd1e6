#include "findings.h"

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "core/text.h"
#include "result/exchange.h"
#include "result/result_file.h"

namespace ttt::ablations {

namespace fs = std::filesystem;
using result::Comparison;
using result::fixed;
using result::joined;

static std::vector<fs::path> sorted(const fs::path& folder) {
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

std::string trainings_text(const Source& source, const std::string& ablation) {
  for (const result::ConvergenceRow& row : source.record.convergence)
    if (row.ablation == ablation) return trainings_text(row);
  std::vector<std::string> ladders;
  for (const result::BatchLadder& l : source.record.batch_ladders)
    if (l.ablation == ablation) ladders.push_back(l.variant + ": " + result::critical_batch_text(l));
  return joined(ladders, kLineBreak);
}

const Source* speaker(const std::vector<Source>& sources, const std::string& ablation) {
  const Source* best = nullptr;
  std::tuple<bool, std::int64_t, std::string> best_key;
  for (const Source& s : sources) {
    const auto rows = rows_of(s, ablation);
    if (rows.empty() && trainings_text(s, ablation).empty()) continue;
    const auto is_measured = [](const Comparison* c) { return c->status == "measured"; };
    const bool measured = rows.empty() || std::any_of(rows.begin(), rows.end(), is_measured);
    const std::tuple key{measured, -s.ranks, s.record.provenance.value("started_at", std::string())};
    if (!best || key > best_key) best = &s, best_key = key;
  }
  return best;
}

std::string interval_text(const Interval& e) {
  return fixed("%+.1f %% (%+.1f to %+.1f)", 100 * e.estimate, 100 * e.low, 100 * e.high);
}

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
      parts.push_back(variant + (e ? ": steps to equal accuracy " + interval_text(e->steps)
                                   : ": " + result::no_exchange_text(row, variant)));
    }
  }
  if (parts.empty()) return result::counted(row.trainings.size(), "training") + " of one variant";
  return joined(parts, kLineBreak);
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

}  // namespace ttt::ablations
