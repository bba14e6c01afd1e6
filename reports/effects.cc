#include "reports/effects.h"

#include <algorithm>
#include <map>

#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_names.h"
#include "result/techniques.h"

namespace ttt::reports {
namespace {

using result::Comparison;
using result::Json;
using result::RunRecord;
using result::Technique;

// A technique on every machine; null where a machine did not measure it.
struct EffectRow {
  std::string name;
  bool usual_ranks = true;
  std::vector<const Technique*> marks;

  const Technique& first() const {
    return **std::find_if(marks.begin(), marks.end(), [](auto* t) { return t; });
  }
  bool is_alike() const {
    return std::all_of(marks.begin(), marks.end(), [](const Technique* t) { return !t || t->is_alike(); });
  }
  double fastest() const {
    double least = first().effect.estimate;
    for (const Technique* t : marks)
      if (t) least = std::min(least, t->effect.estimate);
    return least;
  }
};

class EffectTable {
 public:
  explicit EffectTable(const std::vector<NamedRun>& runs) {
    for (const NamedRun& run : runs) {
      records_.push_back(&run.record);
      if (run.record.comparisons.empty()) continue;
      machine_index(run.record);
    }
    all_ = result::techniques(records_);
    std::map<std::int64_t, std::size_t> of_ranks;
    for (const auto* list : {&all_.ranked, &all_.alike})
      for (const Technique& t : *list) ++of_ranks[ranks_of(*records_[t.result])];
    const auto most = std::max_element(
        of_ranks.begin(), of_ranks.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != of_ranks.end()) usual_ranks_ = most->first;
    add(all_.ranked), add(all_.alike);
    std::stable_sort(
        rows_.begin(), rows_.end(), [](const EffectRow& a, const EffectRow& b) { return a.fastest() < b.fastest(); });
  }

  // Machines of which any plot shows a technique: the same in all, so that a colour means one machine.
  std::vector<std::size_t> shown_machines() const {
    std::vector<std::size_t> shown;
    for (std::size_t m = 0; m < machines_.size(); ++m)
      if (std::any_of(rows_.begin(), rows_.end(),
              [m](const EffectRow& row) { return !row.is_alike() && row.marks[m] != nullptr; }))
        shown.push_back(m);
    return shown;
  }

  Json forest(bool whole_steps, bool usual_ranks = true) const {
    const std::vector<std::size_t> shown = shown_machines();
    Json rows = Json::array(), machines = Json::array();
    for (const std::size_t m : shown) machines.push_back(machines_[m]);
    for (const EffectRow& row : rows_) {
      if (row.is_alike() || row.first().whole_step != whole_steps || row.usual_ranks != usual_ranks) continue;
      Json marks = Json::array();
      for (const std::size_t m : shown) marks.push_back(row.marks[m] ? mark(*row.marks[m]) : Json());
      const bool known = row.first().variant.kind != result::Place::Kind::kUnknown;
      rows.push_back({{"name", row.name}, {"marks", marks}, {"note", known ? place_text(row.first()) : ""}});
    }
    if (rows.empty()) return nullptr;
    const std::string what = whole_steps ? "training step" : "operation alone";
    return {{"kind", "forest"}, {"title", "Change of the time of a" + std::string(whole_steps ? " " : "n ") + what},
        {"x", "change [%], 95 % interval"},
        {"about",
            "A row for each technique, the fastest first; a mark with its 95 % interval for each machine. A filled "
            "mark: the interval excludes 0."},
        {"machines", machines}, {"rows", rows}};
  }

  std::vector<Json> self_tests() const {
    std::vector<Json> plots;
    for (const result::SelfTest& test : all_.self_tests) {
      const bool is_known = test.truth.has_value();
      const double truth = 100 * test.truth.value_or(0);
      Json rows = Json::array();
      for (const Comparison& c : records_[test.result]->comparisons)
        if (const auto e = measured_effect(c); e && c.ablation == test.ablation && truth_of(c) == test.truth)
          rows.push_back({{"low", 100 * e->low}, {"estimate", 100 * e->estimate}, {"high", 100 * e->high},
              {"holds", !is_known || (100 * e->low <= truth && truth <= 100 * e->high)}});
      if (rows.empty()) continue;
      std::sort(rows.begin(), rows.end(),
          [](const Json& a, const Json& b) { return a["estimate"].get<double>() < b["estimate"].get<double>(); });
      plots.push_back({{"kind", "caterpillar"}, {"title", self_test_title(test)}, {"x", "change [%], 95 % interval"},
          {"reference", is_known ? Json(truth) : Json()}, {"rows", rows},
          {"about", std::string("One line for each repetition, in the order of their estimates: its 95 % interval") +
                        (is_known ? ", in another colour where the dashed line, the truth, is outside."
                                  : ". The file's program did not record which cost was planted.")}});
    }
    return plots;
  }

  // What to change in the recipe; else the technique that is worth most, of those of which the recipe has no variant.
  std::string answer() const {
    std::string advised;
    for (std::size_t i = 0; i < records_.size(); ++i)
      if (const std::string text = advice_text(result::advice(all_.ranked, i)); !text.empty())
        advised += (advised.empty() ? "Faster here: " : "; ") + text + " on " + machine_text(*records_[i]);
    if (!advised.empty()) return advised + ".";
    for (const EffectRow& row : rows_) {
      const Technique& first = row.first();
      const bool has_one = std::any_of(rows_.begin(), rows_.end(), [&](const EffectRow& other) {
        return other.first().comparison->ablation == first.comparison->ablation &&
               other.first().variant.kind == result::Place::Kind::kRecipe;
      });
      if (row.is_alike() || !first.whole_step || row.fastest() >= 0 || has_one) continue;
      std::string text;
      for (std::size_t m = 0; m < row.marks.size(); ++m)
        if (const Technique* t = row.marks[m])
          text += (text.empty() ? "" : ", ") + fixed("%+.1f %%", 100 * t->effect.estimate) + " on " + machines_[m];
      return row.name + " changes the time of a training step by " + text + ".";
    }
    return "";
  }

  std::vector<std::string> folded() const {
    std::vector<std::string> lines;
    for (const bool whole_steps : {true, false}) {
      std::vector<const Comparison*> alike, different;
      std::vector<const Technique*> marks;
      for (const EffectRow& row : rows_) {
        if (row.first().whole_step != whole_steps || !row.usual_ranks) continue;
        (row.is_alike() ? alike : different).push_back(row.first().comparison);
        for (const Technique* t : row.marks)
          if (t && row.is_alike()) marks.push_back(t);
      }
      if (alike.empty()) continue;
      lines.push_back(std::string("No difference shown in a") + (whole_steps ? " training step" : "n operation alone") +
                      ", " + widths_text(marks) + ": " + folded_names(alike, different) + ".");
    }
    std::vector<const Comparison*> measured;
    for (const auto* list : {&all_.ranked, &all_.alike})
      for (const Technique& t : *list) measured.push_back(t.comparison);
    std::map<std::string, std::vector<const Comparison*>> by_reason;
    for (const result::NotMeasured& n : all_.not_measured)
      by_reason[n.reason].insert(by_reason[n.reason].end(), n.comparisons.begin(), n.comparisons.end());
    for (const auto& [reason, comparisons] : by_reason)
      lines.push_back("Not measured, " + reason + ": " + folded_names(comparisons, measured) + ".");
    return lines;
  }

 private:
  // "planted: 17 of 20 intervals exclude 0 (AMD EPYC, 2 cores; verdict incorrect)"
  std::string self_test_title(const result::SelfTest& test) const {
    const RunRecord& r = *records_[test.result];
    const bool passed = r.verdict == result::Verdict::kPassed;
    return test.ablation + ": " + test.text() + " (" + machine_text(r) +
           (passed ? "" : "; verdict " + std::string(result::verdict_name(r.verdict))) + ")";
  }

  std::size_t machine_index(const RunRecord& r) {
    const std::string name = machine_text(r);
    const auto at = std::find(machines_.begin(), machines_.end(), name);
    if (at != machines_.end()) return static_cast<std::size_t>(at - machines_.begin());
    machines_.push_back(name);
    return machines_.size() - 1;
  }

  void add(const std::vector<Technique>& techniques) {
    const auto started = [&](const Technique& t) { return text_at(records_[t.result]->provenance, "started_at"); };
    for (const Technique& t : techniques) {
      if (t.of_trainings) continue;
      const std::int64_t ranks = ranks_of(*records_[t.result]);
      const bool usual = ranks == usual_ranks_;
      const std::string name = t.name + (usual ? "" : ", " + std::to_string(ranks) + " ranks");
      auto row = std::find_if(rows_.begin(), rows_.end(), [&](const EffectRow& r) { return r.name == name; });
      if (row == rows_.end())
        row = rows_.insert(rows_.end(), {name, usual, std::vector<const Technique*>(machines_.size(), nullptr)});
      const Technique*& slot = row->marks[machine_index(*records_[t.result])];
      if (!slot || started(*slot) < started(t)) slot = &t;
    }
  }

  static Json mark(const Technique& t) {
    const auto [estimate, low, high] = t.effect;
    return {{"low", 100 * low}, {"estimate", 100 * estimate}, {"high", 100 * high}, {"alike", t.is_alike()},
        {"effect", fixed("%+.1f %%", 100 * estimate)}, {"interval", fixed("(%+.1f to %+.1f)", 100 * low, 100 * high)},
        {"warning", t.disturbed ? result::disturbance({t.comparison}) : ""}};
  }

  std::vector<const RunRecord*> records_;
  std::vector<std::string> machines_;
  std::int64_t usual_ranks_ = 0;  // of most comparisons; rows of others are named by theirs
  result::Techniques all_;
  std::vector<EffectRow> rows_;
};

}  // namespace

Effects effects(const std::vector<NamedRun>& runs) {
  const EffectTable table(runs);
  return {.steps = table.forest(true),
      .operations = table.forest(false),
      .other_ranks = table.forest(true, false),
      .self_tests = table.self_tests(),
      .answer = table.answer(),
      .folded = table.folded()};
}

}  // namespace ttt::reports
