#include "result/techniques.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/text.h"

namespace ttt::result {
namespace {

using Kind = Place::Kind;

std::string setting_text(const std::string& key, const Json& value) {
  return key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
}

std::string as_options(const std::vector<std::string>& settings) { return "--set " + joined(settings, " --set "); }

// Settings of `side` that `other` has not, or otherwise.
std::vector<std::string> own_settings(const SideChange& side, const SideChange& other) {
  std::vector<std::string> own;
  for (const auto& [key, value] : side.sets.items())
    if (const auto it = other.sets.find(key); it == other.sets.end() || *it != value)
      own.push_back(setting_text(key, value));
  return own;
}

Place place_of(const SideChange& side, const SideChange& other) {
  const std::vector<std::string> own = own_settings(side, other);
  // Two operations by themselves that no setting tells apart are the ablation's.
  const bool elsewhere = side.alone && (!other.alone || (own.empty() && own_settings(other, side).empty()));
  if (elsewhere || !side.replaces.empty()) return {Kind::kElsewhere};
  return own.empty() ? Place{Kind::kRecipe} : Place{Kind::kSettings, own};
}

// Whether what was built, of one side, can be what `run` has: programs of other ages name other members.
bool fits(const Json& side, const Json& run) {
  if (!side.is_object() || !run.is_object()) return side == run;
  for (const auto& [key, value] : side.items())
    if (const auto it = run.find(key); it != run.end() && *it != value) return false;
  return true;
}

// Whether the run built the baseline, and the variant; nothing where it does not tell.
std::optional<std::pair<bool, bool>> built_sides(const Comparison& c, const Json& run) {
  bool baseline = true, variant = true;
  for (const auto& [part, sides] : c.built.items()) {
    const auto it = run.find(part);
    if (it == run.end()) return std::nullopt;
    baseline &= fits(sides[0], *it), variant &= fits(sides[1], *it);
  }
  if (baseline && variant) return std::nullopt;  // not told apart
  return std::pair(baseline, variant);
}

// Of `trainings` those count that tell the sides apart. Where two contradict each other, the place stays unknown.
void place_by_built(Technique& t, const std::vector<const RunRecord*>& trainings) {
  std::optional<std::pair<bool, bool>> built;
  for (const RunRecord* run : trainings) {
    const auto its = built_sides(*t.comparison, run->built);
    if (built && its && *built != *its) return;
    if (its) built = its;
  }
  if (!built) return;
  t.baseline.kind = built->first ? Kind::kRecipe : Kind::kOther;
  t.variant.kind = built->second ? Kind::kRecipe : Kind::kOther;
}

// The runs that passed, or every run where none did: short runs often have settings of their own.
std::vector<const RunRecord*> trainings_of(const std::vector<const RunRecord*>& records) {
  std::vector<const RunRecord*> all, passed;
  for (const RunRecord* r : records) {
    if (!r->comparisons.empty() || r->built.empty()) continue;
    all.push_back(r);
    if (r->verdict == Verdict::kPassed) passed.push_back(r);
  }
  return passed.empty() ? all : passed;
}

Technique technique_of(
    const Comparison& c, const Interval& effect, std::size_t result, const std::vector<const RunRecord*>& trainings) {
  Technique t{.comparison = &c,
      .result = result,
      .name = row_name(c),
      .effect = effect,
      .whole_step = is_whole_step(c),
      .disturbed = is_disturbed(c)};
  if (c.against_recipe) {
    const auto& [baseline, variant] = *c.against_recipe;
    t.baseline = place_of(baseline, variant), t.variant = place_of(variant, baseline);
    for (const auto& [key, value] : baseline.sets.items())
      if (const auto it = variant.sets.find(key); it != variant.sets.end() && *it == value)
        t.conditions.push_back(setting_text(key, value));
  } else {
    place_by_built(t, trainings);
  }
  return t;
}

// The same on every machine.
auto identity(const Comparison& c) { return std::tie(c.ablation, c.baseline, c.variant, c.setting, c.repetition); }

// Rows of one technique stand together, where the fastest of them belongs.
void rank(std::vector<Technique>& rows) {
  std::map<decltype(identity(*rows[0].comparison)), double> fastest;
  for (const Technique& t : rows) {
    const auto [at, fresh] = fastest.emplace(identity(*t.comparison), t.effect.estimate);
    if (!fresh) at->second = std::min(at->second, t.effect.estimate);
  }
  const auto key = [&](const Technique& t) {
    const auto id = identity(*t.comparison);
    return std::tuple(fastest.at(id), id, t.result);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Technique& a, const Technique& b) { return key(a) < key(b); });
}

// Both sides are built alike on purpose; where it is not, a row is not measured.
bool is_self_test(const Comparison& c) { return c.status == "measured" && (c.known_effect || c.built.empty()); }

std::string reason_of(const Comparison& c) {
  if (c.status == "measured") return "too few builds for an interval";
  // of earlier programs, and of a recipe's own check
  for (const char* gpu : {"CUDA devices only", "is for GPUs"})
    if (c.reason.find(gpu) != std::string::npos) return "needs a GPU";
  return c.status == "not_supported" ? c.reason : c.status + ": " + c.reason;
}

void add_not_measured(std::vector<NotMeasured>& all, const Comparison& c, std::size_t result) {
  const std::string reason = reason_of(c);
  auto at = std::find_if(
      all.begin(), all.end(), [&](const NotMeasured& n) { return n.result == result && n.reason == reason; });
  if (at == all.end()) at = all.insert(all.end(), {.reason = reason, .result = result});
  at->comparisons.push_back(&c);
}

std::vector<const Technique*> rows_of(const std::vector<Technique>& rows, std::size_t result) {
  std::vector<const Technique*> out;
  for (const Technique& t : rows)
    if (t.result == result) out.push_back(&t);
  return out;
}

std::vector<const Comparison*> comparisons_of(const std::vector<const Technique*>& rows) {
  std::vector<const Comparison*> out;
  for (const Technique* t : rows) out.push_back(t->comparison);
  return out;
}

// Of all builds and both sides; empty where it is not recorded.
std::vector<double> noise_of(const Comparison& c, const char* name) {
  std::vector<double> values;
  if (const auto at = c.noise.find(name); at != c.noise.end())
    for (const auto& sides : at->second) values.insert(values.end(), sides.begin(), sides.end());
  return values;
}

double mean(const std::vector<double>& shares) {
  return shares.empty() ? 0 : sum(shares) / static_cast<double>(shares.size());
}

double spread(const std::vector<double>& rates) {
  if (rates.empty()) return 0;
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  return *most / *least - 1;
}

// Noise that a comparison may record: how large it was, and what to say and do where that is out of the ordinary.
struct Noise {
  const char* name;
  double (*size)(const std::vector<double>& values);
  const char *pattern, *remedy;
};
constexpr Noise kNoises[] = {
    {"others", mean, "other processes took %.0f %% of the processors", "End them, or ask for whole nodes. "},
    {"stolen", mean, "%.0f %% stolen by the host", "Ask for processors that no other machine shares. "},
    {"clock_mhz", spread, "the clock varied by %.0f %% between builds", "Fix the clock rate, or let it cool down. "}};

// The best that a row says of the recipe; nothing where it says nothing.
std::optional<Advice> advice_of(const Technique& t) {
  if (!t.whole_step || !t.conditions.empty() || t.disturbed || t.of_trainings) return std::nullopt;
  const bool other_numbers = t.comparison->promise == "other_work";
  if (t.is_faster() && t.variant.kind == Kind::kSettings && t.baseline.kind == Kind::kRecipe)
    return Advice{t.variant.settings, t.effect.estimate, other_numbers};
  if (!t.is_faster() && t.baseline.kind == Kind::kSettings && t.variant.kind == Kind::kRecipe && !other_numbers)
    return Advice{t.baseline.settings, 1 / (1 + t.effect.estimate) - 1, other_numbers};
  return std::nullopt;
}

}  // namespace

std::optional<double> truth_of(const Comparison& c) {
  return !c.known_effect && c.variant == c.baseline + " again" ? 0 : c.known_effect;
}

void count(std::vector<SelfTest>& tests, const Comparison& c, std::size_t result) {
  const auto truth = truth_of(c);
  auto test = std::find_if(tests.begin(), tests.end(),
      [&](const SelfTest& t) { return t.result == result && t.ablation == c.ablation && t.truth == truth; });
  if (test == tests.end()) test = tests.insert(tests.end(), {.ablation = c.ablation, .result = result, .truth = truth});
  ++test->intervals;
  const auto e = measured_effect(c);
  if (!e) return;
  const bool is_shown = e->low > 0 || e->high < 0, covers = !truth || (e->low <= *truth && *truth <= e->high);
  test->found += covers && (truth == 0 || is_shown);
}

std::string variant_text(const Comparison& c) {
  std::string text = c.variant;
  if (!c.setting.empty()) text.append(", ").append(c.setting);
  if (c.repetition > 0) text.append(" #").append(std::to_string(c.repetition + 1));
  return text;
}

std::string row_name(const Comparison& c) { return c.ablation + ": " + variant_text(c); }

bool is_disturbed(const Comparison& c) {
  const auto e = measured_effect(c);
  return e && e->high - e->low > 2 * kQuiet;
}

bool is_whole_step(const Comparison& c) { return c.status != "measured" || !c.phases.empty(); }

std::optional<Interval> measured_effect(const Comparison& c) {
  return c.status == "measured" ? effect(c.samples) : std::nullopt;
}

std::string disturbance(const std::vector<const Comparison*>& comparisons) {
  double differ = 0;
  std::optional<double> preemptions;
  for (const Comparison* c : comparisons) {
    const std::vector<double> builds = build_effects(c->samples);
    const auto [least, most] = std::minmax_element(builds.begin(), builds.end());
    differ = std::max(differ, std::expm1(*most - *least));
    if (const auto p = c->counters.find("preemptions"); p != c->counters.end())
      preemptions = std::max({preemptions.value_or(0), (*p)[0].get<double>(), (*p)[1].get<double>()});
  }
  std::vector<std::string> seen = {fixed("builds differ by %.0f %%", 100 * differ)}, remedies;
  if (preemptions) seen.push_back(fixed("%.0f preemptions a step", *preemptions));
  for (const Noise& noise : kNoises) {
    double most = 0;
    for (const Comparison* c : comparisons) most = std::max(most, noise.size(noise_of(*c, noise.name)));
    if (most > kOrdinary) seen.push_back(fixed(noise.pattern, 100 * most)), remedies.emplace_back(noise.remedy);
  }
  return joined(seen) + ". " + joined(remedies, "") + "Repeat when quiet.";
}

std::string SelfTest::text() const {
  const std::string counts = fixed("%zu of %zu intervals ", found, intervals);
  if (!truth) return counts + "exclude 0";
  return counts + (*truth == 0 ? "contain 0" : fixed("contain %+.1f %% and exclude 0", 100 * *truth)) +
         (is_proof() ? fixed(" (at least %zu wanted)", wanted()) : " (too few for a proof)");
}

bool is_of_trainings(const RunRecord& record, const Comparison& comparison) {
  return std::any_of(record.convergence.begin(), record.convergence.end(),
      [&](const ConvergenceRow& row) { return row.ablation == comparison.ablation; });
}

Techniques techniques(const std::vector<const RunRecord*>& records) {
  const std::vector<const RunRecord*> trainings = trainings_of(records);
  Techniques all;
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const Comparison& c : records[i]->comparisons) {
      const auto effect = measured_effect(c);
      if (is_self_test(c)) count(all.self_tests, c, i);
      else if (!effect) add_not_measured(all.not_measured, c, i);
      else {
        Technique t = technique_of(c, *effect, i, trainings);
        t.of_trainings = is_of_trainings(*records[i], c);
        (t.is_alike() ? all.alike : all.ranked).push_back(t);
      }
    }
  rank(all.ranked), rank(all.alike);
  return all;
}

std::vector<Advice> advice(const std::vector<Technique>& ranked, std::size_t result) {
  std::map<std::string, Advice> best;
  for (const Technique& t : ranked) {
    const auto a = t.result == result ? advice_of(t) : std::nullopt;
    if (!a) continue;
    const auto [at, fresh] = best.emplace(t.comparison->ablation, *a);
    if (!fresh && a->change < at->second.change) at->second = *a;
  }
  std::vector<Advice> out;
  for (auto& [ablation, a] : best) out.push_back(std::move(a));
  std::stable_sort(out.begin(), out.end(), [](const Advice& a, const Advice& b) { return a.change < b.change; });
  return out;
}

std::string folded_names(const std::vector<const Comparison*>& rows, const std::vector<const Comparison*>& others) {
  std::map<std::string, std::set<std::string>> by_ablation;
  for (const Comparison* c : rows) {
    const auto same = [&](const Comparison* other) { return other->ablation == c->ablation; };
    const auto same_variant = [&](const Comparison* other) { return same(other) && other->variant == c->variant; };
    std::set<std::string>& variants = by_ablation[c->ablation];
    if (std::none_of(others.begin(), others.end(), same)) continue;
    const bool all_settings = std::none_of(others.begin(), others.end(), same_variant);
    variants.insert(all_settings ? c->variant : variant_text(*c));
  }
  std::vector<std::string> names;
  for (const auto& [ablation, variants] : by_ablation)
    names.push_back(variants.empty() ? ablation : ablation + " (" + joined(variants, "; ") + ")");
  return joined(names);
}

std::string widths_text(const std::vector<const Technique*>& alike) {
  double widest = 0;
  std::size_t disturbed = 0;
  for (const Technique* t : alike)
    if (t->disturbed) ++disturbed;
    else widest = std::max({widest, -t->effect.low, t->effect.high});
  if (disturbed == alike.size()) return "all disturbed";
  return (disturbed > 0 ? "intervals of the undisturbed rows" : "all intervals") +
         fixed(" within +-%.1f %%", 100 * widest);
}

std::string advice_text(const std::vector<Advice>& all) {
  std::vector<std::string> parts;
  for (const Advice& a : all)
    parts.push_back(as_options(a.settings) + fixed(" (%+.1f %%", 100 * a.change) +
                    (a.other_numbers ? ", other numbers: check the accuracy)" : ")"));
  return joined(parts);
}

std::vector<Remark> advice_remarks(const Techniques& all, std::size_t result) {
  const std::string text = advice_text(advice(all.ranked, result));
  return text.empty() ? std::vector<Remark>{} : std::vector<Remark>{{"change these", text}};
}

std::string place_text(const Technique& t) {
  const bool baseline_is_yours = t.baseline.kind == Kind::kRecipe;
  switch (t.variant.kind) {
    case Kind::kUnknown: return "not known";
    case Kind::kRecipe: return "in your recipe" + std::string(t.is_faster() ? "" : ", slower");
    case Kind::kSettings:
      if (baseline_is_yours && t.is_faster()) return as_options(t.variant.settings);
      break;
    case Kind::kElsewhere:
    case Kind::kOther: break;
  }
  return baseline_is_yours ? "not in your recipe" : "neither is yours";
}

std::vector<Remark> remarks(const Techniques& all, std::size_t result) {
  std::vector<Remark> out;
  const auto shown = rows_of(all.ranked, result), alike = rows_of(all.alike, result);
  if (!alike.empty())
    out.push_back({"no difference shown",
        widths_text(alike) + ": " + folded_names(comparisons_of(alike), comparisons_of(shown))});
  for (const NotMeasured& n : all.not_measured)
    if (n.result == result) {
      auto others = comparisons_of(shown);
      for (const Technique* t : alike) others.push_back(t->comparison);
      out.push_back({"not measured", n.reason + ": " + folded_names(n.comparisons, others)});
    }
  for (const SelfTest& test : all.self_tests)
    if (test.result == result) out.push_back({test.ablation, test.text()});
  std::vector<const Comparison*> disturbed;
  for (const auto& rows : {shown, alike})
    for (const Technique* t : rows)
      if (t->disturbed) disturbed.push_back(t->comparison);
  if (!disturbed.empty()) out.push_back({"! disturbed", folded_names(disturbed, {}) + ": " + disturbance(disturbed)});
  const auto is_unknown = [](const Technique* t) { return t->variant.kind == Kind::kUnknown; };
  if (!shown.empty() && std::all_of(shown.begin(), shown.end(), is_unknown))
    out.push_back({"in your recipe", "not recorded by this file's program; name a result of a training beside it"});
  return out;
}

}  // namespace ttt::result
