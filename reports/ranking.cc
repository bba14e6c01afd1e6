#include "reports/ranking.h"

#include <algorithm>
#include <cmath>

#include "reports/batch_ladder.h"
#include "reports/convergence.h"
#include "reports/numbers.h"
#include "reports/run_names.h"
#include "result/techniques.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::Technique;
using result::Techniques;

constexpr std::size_t kPlotWidth = 13;

// The results that have rows. Their letters are said where there are several.
struct Ranking {
  std::vector<const NamedRun*> runs;
  std::vector<std::string> names;  // of their files
  Techniques all;
  bool several = false;
  std::string letter(std::size_t i) const { return several ? letters(i) : ""; }
  std::string prefix(std::size_t i) const { return several ? letters(i) + ": " : ""; }
};

Ranking ranking_of(const std::vector<NamedRun>& runs) {
  Ranking ranking;
  std::vector<const RunRecord*> records;
  const auto has_rows = [](const NamedRun& r) {
    return !r.record.comparisons.empty() || !r.record.convergence.empty() || !r.record.batch_ladders.empty();
  };
  for (const NamedRun& run : runs)
    if (has_rows(run)) ranking.runs.push_back(&run), records.push_back(&run.record);
  for (const NamedRun& run : runs)
    if (!has_rows(run)) records.push_back(&run.record);
  std::vector<std::string> files;
  for (const NamedRun* run : ranking.runs) files.push_back(run->name);
  ranking.names = short_names(files);
  ranking.all = result::techniques(records), ranking.several = ranking.runs.size() > 1;
  return ranking;
}

std::string counts_text(const Ranking& ranking, std::size_t i) {
  std::size_t faster = 0, slower = 0, alike = 0, none = 0;
  for (const Technique& t : ranking.all.ranked)
    if (t.result == i) ++(t.is_faster() ? faster : slower);
  for (const Technique& t : ranking.all.alike) alike += t.result == i;
  for (const auto& n : ranking.all.not_measured) none += n.result == i ? n.comparisons.size() : 0;
  std::string text;
  for (const auto& [n, what] :
      {std::pair{faster, "faster"}, {slower, "slower"}, {alike, "no difference shown"}, {none, "not run"}})
    if (n > 0) text += (text.empty() ? ": " : ", ") + std::to_string(n) + " " + what;
  return text;
}

void add_title(const Ranking& ranking, std::size_t i, Document& d) {
  const RunRecord& record = ranking.runs[i]->record;
  std::string text =
      ranking.prefix(i) + system_text(record) + ", recipe " + record.recipe.name + counts_text(ranking, i);
  if (record.verdict != result::Verdict::kPassed)
    text += ". " + result::verdict_title(record.verdict) + ": " + record.reason;
  if (ranking.several) text += " (" + ranking.names[i] + ")";
  d.push_back(Paragraph{text});
}

// Under a column that asks whether it is in the recipe.
std::string place_word(const Technique& t) {
  const std::string text = result::place_text(t);
  for (const auto& [words, word] : {std::pair{"in your recipe", "yes"}, {"in your recipe, slower", "yes, slower"},
           {"not in your recipe", "no"}, {"neither is yours", "neither side"}})
    if (text == words) return word;
  return text;
}

// One variant of a result; under several settings, where all say the same: from the first that is ranked on.
struct Ranked {
  std::vector<const Technique*> rows;

  const Technique& first() const { return *rows.front(); }
  bool takes(const Technique& t) const {
    const auto &a = *first().comparison, &b = *t.comparison;
    return first().result == t.result && a.ablation == b.ablation && a.variant == b.variant &&
           first().is_faster() == t.is_faster() && place_word(first()) == place_word(t);
  }
  std::string name() const {
    const auto& c = *first().comparison;
    const bool disturbed = std::any_of(rows.begin(), rows.end(), [](const Technique* t) { return t->disturbed; });
    return (rows.size() == 1 ? first().name
                             : c.ablation + ": " + c.variant + " (" + std::to_string(rows.size()) + ")") +
           (disturbed ? " !" : "");
  }
  // The estimate that is ranked on, and the outermost ends.
  Interval hull() const {
    Interval all = first().effect;
    for (const Technique* t : rows)
      all.low = std::min(all.low, t->effect.low), all.high = std::max(all.high, t->effect.high);
    return all;
  }
};

// In steps, or of operations alone; nothing where there is no such row.
void add_table(const Ranking& ranking, bool whole_step, Document& d) {
  std::vector<Ranked> rows;
  double low = 0, high = 0;
  bool places = false;
  for (const Technique& t : ranking.all.ranked) {
    if (t.whole_step != whole_step) continue;
    low = std::min(low, t.effect.low), high = std::max(high, t.effect.high);
    places |= t.variant.kind != result::Place::Kind::kUnknown;
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Ranked& r) { return r.takes(t); });
    same == rows.end() ? rows.push_back({{&t}}) : same->rows.push_back(&t);
  }
  if (rows.empty()) return;
  Table table;
  table.header.add(whole_step ? Label("whole training step") : Label("one operation alone"));
  if (ranking.several) table.header.add("result");
  table.header.add("change"), table.header.add("95 % interval");
  table.header.add_data(fixed("%+.0f to %+.0f %%", 100 * low, 100 * high));
  table.right = {false, true, true, true};
  if (ranking.several) table.right.insert(table.right.begin(), false);
  if (places) table.header.add("in your recipe");
  std::string before;
  for (const Ranked& r : rows) {
    const std::string name = r.name();
    Row row = {before == name ? "" : name};
    if (ranking.several) row.emplace_back(ranking.letter(r.first().result));
    const Interval hull = r.hull();
    row.insert(row.end(),
        {{fixed("%+.1f %%", 100 * hull.estimate), 100 * hull.estimate, "%"},
            {fixed("%+.1f to %+.1f %%", 100 * hull.low, 100 * hull.high), 100 * hull.low, 100 * hull.high, "%"},
            interval_plot(hull, low, high, kPlotWidth)});
    if (places) row.emplace_back(place_word(r.first()));
    table.rows.push_back(std::move(row)), before = name;
  }
  d.push_back(std::move(table));
}

}  // namespace

std::string interval_plot(const Interval& e, double low, double high, std::size_t width) {
  const auto at = [&](double x) {
    return static_cast<std::size_t>(std::lround((x - low) / (high - low) * static_cast<double>(width - 1)));
  };
  std::string text(width, ' ');
  text[at(0)] = '|';
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(at(e.low)),
      text.begin() + static_cast<std::ptrdiff_t>(at(e.high)) + 1, '-');
  text[at(e.estimate)] = '*';
  return text;
}

Document ranked_blocks(const std::vector<NamedRun>& runs) {
  const Ranking ranking = ranking_of(runs);
  Document d;
  if (ranking.runs.empty()) {
    for (const NamedRun& run : runs)
      d.push_back(Paragraph{run.name + ": no comparisons, this is a result of kind " + run.record.kind + "."});
    return d;
  }
  for (std::size_t i = 0; i < ranking.runs.size(); ++i) add_title(ranking, i, d);
  Table answers{.header = {"", ""}, .headless = true}, rest = answers;
  const auto add = [](Table& table, const std::string& prefix, const std::vector<result::Remark>& remarks) {
    for (const auto& [subject, text] : remarks) table.rows.push_back({prefix + subject, text});
  };
  for (std::size_t i = 0; i < ranking.runs.size(); ++i) {
    add(answers, ranking.prefix(i), result::advice_remarks(ranking.all, i));
    add(rest, ranking.prefix(i), result::remarks(ranking.all, i));
    add(rest, ranking.prefix(i), convergence_remarks(ranking.runs[i]->record));
    add(rest, ranking.prefix(i), ladder_remarks(ranking.runs[i]->record));
  }
  if (!answers.rows.empty()) d.push_back(std::move(answers));
  for (const bool whole_step : {true, false}) add_table(ranking, whole_step, d);
  if (!rest.rows.empty()) d.push_back(std::move(rest));
  return d;
}

}  // namespace ttt::reports
