#include "reports/sides.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/text.h"
#include "reports/groups.h"
#include "reports/keys.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::joined;
using result::Json;
using result::RunRecord;

constexpr const char* kTrainImages = "data.train_sha256";

// Values of a run by key, settings as --set names them.
std::map<std::string, std::string> facts_of(const RunRecord& r, bool all) {
  std::map<std::string, std::string> facts;
  for (const auto& [key, value] : settings_of(r)) facts[key] = setting_text(value);
  facts[kTrainImages] = text_at(r.data, "train_sha256");
  facts["steps.step_s.ranks"] = r.steps.step_ranks;
  if (!all) return facts;
  const auto add = [&](const Json& root, const std::string& prefix) {
    for (const std::string& key : leaves(root))
      if (const Json* value = member_at(root, key)) facts[prefix + key] = value_text(*value);
  };
  add(r.system, "system."), add(r.provenance, "provenance."), add(r.built, "built."), add(r.data, "data.");
  return facts;
}

struct Facts {
  std::vector<std::vector<std::map<std::string, std::string>>> of;  // side, run
  std::map<std::string, std::string> defaults;                      // of settings
  std::vector<std::set<std::string>> missing;                       // by side: settings that a run of it does not have
};

Facts gather(const std::vector<Side>& sides, bool all) {
  Facts f;
  for (const Side& side : sides) {
    f.of.emplace_back();
    for (const NamedRun* run : side.runs) {
      f.of.back().push_back(facts_of(run->record, all));
      for (const auto& [key, value] : defaults_of(run->record)) f.defaults[key] = setting_text(value);
    }
  }
  for (auto& side : f.of) {
    f.missing.emplace_back();
    for (auto& run : side)
      for (const auto& [key, value] : f.defaults)
        if (run.emplace(key, value).second) f.missing.back().insert(key);
  }
  return f;
}

std::string newest_start(const Side& side) {
  std::string newest;
  for (const NamedRun* run : side.runs) newest = std::max(newest, text_at(run->record.provenance, "started_at", ""));
  return newest;
}

// "A was made before 18 keys existed (data.transform, …): their defaults are assumed."
std::string missing_text(
    const std::vector<Side>& sides, const Side& side, const std::set<std::string>& keys, bool all) {
  constexpr std::ptrdiff_t kNamed = 2;
  std::string names;
  for (auto key = keys.begin(); key != keys.end() && (all || std::distance(keys.begin(), key) < kNamed); ++key)
    names += (names.empty() ? "" : ", ") + *key;
  if (!all && std::ssize(keys) > kNamed) names += ", \u2026";
  const bool older = std::any_of(
      sides.begin(), sides.end(), [&](const Side& other) { return newest_start(other) > newest_start(side); });
  const std::string count = result::counted(keys.size(), "key");
  return side.title +
         (older ? " was made before " + count + " existed" : " does not have " + count + " of the others") + " (" +
         names + "): " + (keys.size() == 1 ? "its default is" : "their defaults are") + " assumed.";
}

using Values = std::vector<std::string>;  // that the runs of a side have, each once

// The sentences about one key; `values` by side.
void add_difference(const std::vector<Side>& sides, const std::string& key, const std::vector<Values>& values, bool all,
    std::vector<std::string>& out) {
  Values titles, texts;
  for (const Side& side : sides) titles.push_back(side.title);
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end()) {
    for (const Values& v : values) texts.push_back(v.size() == 1 ? v[0] : "{" + joined(v) + "}");
    const bool sum = !all && key == kTrainImages;
    out.push_back(enumeration(titles) + " differ in " + key +
                  (sum ? " (other training images)."
                       : ": " + (texts.size() == 2 ? texts[0] + " against " + texts[1] : joined(texts)) + "."));
  } else if (values[0].size() > 1) {
    out.push_back("The runs of " + enumeration(titles) + " vary in " + key + ": " + joined(values[0]) + ".");
  }
}

// Reasons in a run to doubt its own numbers.
std::vector<std::string> doubts(const RunRecord& r) {
  std::vector<std::string> out;
  const std::string verdict(result::verdict_name(r.verdict));
  if (r.kind == "time_to_target" && !reaching_evaluation(r))
    out.push_back(r.target ? "did not reach the target (" + verdict + ")" : "had no target (" + verdict + ")");
  else if (r.verdict != result::Verdict::kPassed)
    out.push_back((r.kind == "time_to_target" ? "reached the target, but ended as " : "ended as ") + verdict);
  if (r.provenance.value("dirty", false)) out.push_back("came of a tree with uncommitted changes");
  return out;
}

void add_doubts(const Side& side, std::vector<std::string>& out) {
  std::map<std::string, std::size_t> runs;
  for (const NamedRun* run : side.runs)
    for (const std::string& doubt : doubts(run->record)) ++runs[doubt];
  const std::string all = std::to_string(side.runs.size());
  for (const auto& [doubt, count] : runs)
    out.push_back(
        (side.runs.size() == 1 ? side.title : std::to_string(count) + " of " + all + " runs of " + side.title) + " " +
        doubt + ".");
}

}  // namespace

std::string enumeration(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

Table identity(const std::vector<Side>& sides) {
  Table t{.header = {"", "file", "verdict", "ranks", "nodes", "commit", "recipe"}};
  for (const Side& side : sides) {
    std::vector<Values> columns(6);
    for (const NamedRun* run : side.runs) {
      const RunRecord& r = run->record;
      const Values row = {run->name, std::string(result::verdict_name(r.verdict)), text_at(r.system, "world_size"),
          machine_text(r), text_at(r.provenance, "commit").substr(0, 10),
          r.recipe.name + (side.runs.size() == 1 ? " " + r.recipe.sha256.substr(0, 12) : "")};
      for (std::size_t c = 0; c < row.size(); ++c)
        if (std::find(columns[c].begin(), columns[c].end(), row[c]) == columns[c].end()) columns[c].push_back(row[c]);
    }
    if (columns[0].size() > 1) columns[0] = {std::to_string(columns[0].size()) + " files"};
    Row cells = {side.title};
    for (const Values& values : columns) cells.push_back(joined(values));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Table cautions(const std::vector<Side>& sides, const CautionOptions& options) {
  std::vector<std::string> texts;
  bool repeated = false;
  for (const Side& side : sides) repeated |= side.runs.size() > 1, add_doubts(side, texts);
  const Facts facts = gather(sides, options.all);
  std::set<std::string> keys;
  for (const auto& side : facts.of)
    for (const auto& run : side)
      for (const auto& [key, value] : run) keys.insert(key);
  for (const std::string& key : keys) {
    const bool ignored = std::find(options.ignored.begin(), options.ignored.end(), key) != options.ignored.end();
    // Groups repeat an experiment over seeds.
    if (ignored || (!options.all && is_harmless(key)) || (repeated && key == "seed")) continue;
    std::vector<Values> values;
    for (const auto& side : facts.of) {
      std::set<std::string> seen;
      for (const auto& run : side) seen.insert(run.contains(key) ? run.at(key) : "-");
      values.emplace_back(seen.begin(), seen.end());
    }
    add_difference(sides, key, values, options.all, texts);
  }
  for (std::size_t i = 0; i < sides.size(); ++i)
    if (!facts.missing[i].empty()) texts.push_back(missing_text(sides, sides[i], facts.missing[i], options.all));
  Table t{.header = {"", "warning"}, .headless = true};
  for (std::string& text : texts) t.rows.push_back({"!", std::move(text)});
  return t;
}

}  // namespace ttt::reports
