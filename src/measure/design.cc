#include "measure/design.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "settings/field_table.h"

namespace ttt::ablations {
namespace {

Pairing of_ablation(const Ablation& a, const Variant& baseline, const Variant& variant, const Capabilities& here) {
  return {.ablation = a.name,
      .question = a.question,
      .expectation = a.expectation,
      .baseline = baseline,
      .variant = variant,
      .promise = a.promise,
      .rtol = a.rtol,
      .half_width = a.half_width,
      .limit_s = a.limit_s,
      .built_alike = a.built_alike,
      .under_load = a.under_load,
      .block_steps = std::max(a.block_steps, variant.block_steps),
      .settle_steps = a.settle_steps,
      .unsupported = a.unsupported(here)};
}

// Those of the ablation, or the recipe as it is.
std::vector<Setting> settings_of(const Ablation& a) {
  return a.settings.empty() ? std::vector<Setting>{{}} : a.settings;
}

std::vector<Pairing> one_off(
    const std::vector<Ablation>& ablations, const Capabilities& here, std::int64_t repetitions) {
  std::vector<Pairing> out;
  for (const Ablation& a : ablations) {
    const std::string reason = a.unsupported(here);
    const std::int64_t times = !reason.empty() ? 1 : repetitions > 0 ? repetitions : a.repetitions;
    for (const Setting& setting : settings_of(a))
      for (std::size_t v = 1; v < a.variants.size(); ++v)
        for (std::int64_t repetition = 0; repetition < times; ++repetition) {
          Pairing p = of_ablation(a, a.variants[0], a.variants[v], here);
          p.setting = setting, p.repetition = repetition, p.repetitions = times;
          out.push_back(std::move(p));
        }
  }
  return out;
}

std::vector<Pairing> null(const std::vector<Ablation>& ablations, const Capabilities& here, std::int64_t repetitions) {
  std::vector<Pairing> out;
  const std::int64_t times = std::max<std::int64_t>(1, repetitions);
  for (const Ablation& a : ablations)
    for (const Setting& setting : settings_of(a))
      for (std::int64_t repetition = 0; repetition < times; ++repetition) {
        Pairing p = of_ablation(a, a.variants[0], a.variants[0], here);
        p.design = "null", p.promise = Promise::kBitwise, p.built_alike = true, p.setting = setting,
        p.repetition = repetition, p.repetitions = times;
        p.variant.name += " again";
        out.push_back(std::move(p));
      }
  return out;
}

using Factors = std::vector<std::size_t>;  // indices into the ablations, ascending

const Variant& variant_of(const Ablation& factor, bool on) { return factor.variants[on ? 1 : 0]; }

Variant combined(const std::vector<Ablation>& ablations, const Factors& on) {
  Variant v;
  std::vector<Variant> parts;
  // the baselines of the others: a baseline may set a key that the recipe has otherwise
  for (std::size_t f = 0; f < ablations.size(); ++f) {
    const bool is_on = std::find(on.begin(), on.end(), f) != on.end();
    parts.push_back(variant_of(ablations[f], is_on));
    if (!is_on) continue;
    v.factors.push_back(ablations[f].name);
    v.name += (v.name.empty() ? "" : " + ") + ablations[f].name + "=" + parts.back().name;
  }
  if (v.name.empty()) v.name = "none";
  v.change = [parts](train::Recipe& r) {
    for (const Variant& p : parts)
      if (p.change) p.change(r);
  };
  v.components = [parts](Components& components) {
    for (const Variant& p : parts)
      if (p.components) p.components(components);
  };
  v.enter = [parts] {
    for (const Variant& p : parts)
      if (p.enter) p.enter();
  };
  return v;
}

Pairing combination(const std::vector<Ablation>& ablations, const std::string& design, const Factors& from,
    const Factors& to, const Capabilities& here) {
  Pairing p{
      .design = design, .ablation = design, .baseline = combined(ablations, from), .variant = combined(ablations, to)};
  for (const std::size_t f : to) p.factors.push_back(ablations[f].name);
  for (std::size_t f = 0; f < ablations.size(); ++f) {
    const Ablation& a = ablations[f];
    p.question += (p.question.empty() ? "" : " ") + a.question;
    p.expectation += (p.expectation.empty() ? "" : " ") + a.expectation;
    const bool differs =
        (std::find(from.begin(), from.end(), f) != from.end()) != (std::find(to.begin(), to.end(), f) != to.end());
    // the weakest of them; differences add up
    if (differs) p.promise = std::max(p.promise, a.promise), p.rtol += a.rtol;
    p.block_steps = std::max({p.block_steps, a.block_steps, variant_of(a, true).block_steps}),
    p.settle_steps = std::max(p.settle_steps, a.settle_steps);
    if (p.unsupported.empty()) p.unsupported = a.unsupported(here);
  }
  return p;
}

// What a factor writes, on or off: keys of the recipe that any of its two variants or of its settings changes, and
// slots that it replaces.
std::set<std::string> written(const Ablation& a, const train::Recipe& recipe) {
  std::set<std::string> out;
  const result::FieldTable plain = result::field_table(recipe);
  const auto add_changed = [&](const std::function<void(train::Recipe&)>& change) {
    train::Recipe changed = recipe;
    if (change) change(changed);
    const result::FieldTable table = result::field_table(changed);
    for (std::size_t i = 0; i < plain.fields.size(); ++i)
      if (table.fields[i].value != plain.fields[i].value) out.insert(plain.fields[i].key);
  };
  for (const Setting& setting : a.settings) add_changed(setting.change);
  for (const bool on : {false, true}) {
    const Variant& variant = variant_of(a, on);
    add_changed(variant.change);
    Components components = components_of(recipe);
    if (variant.components) variant.components(components);
    for (const std::string& slot : components.replaced()) out.insert("the " + slot);
  }
  return out;
}

void check_disjoint(const std::vector<Ablation>& ablations, const train::Recipe& recipe) {
  std::map<std::string, std::string> writer;
  for (const Ablation& a : ablations)
    for (const std::string& what : written(a, recipe))
      if (const auto [at, fresh] = writer.emplace(what, a.name); !fresh)
        throw UsageError("'" + at->second + "' and '" + a.name + "' both set " + what +
                         ", so one would undo the other: combine only one of them.");
}

void check_factors(const std::vector<Ablation>& ablations, const std::string& design) {
  if (ablations.size() < 2) throw UsageError("--design " + design + " combines ablations: name two or more.");
  if (design == "factorial" && ablations.size() > 4)
    throw UsageError("--design factorial compares every combination, " + std::to_string((1 << ablations.size()) - 1) +
                     " of " + std::to_string(ablations.size()) + " factors: name at most four.");
  for (const Ablation& a : ablations) {
    if (a.trains() && design != "factorial")
      throw UsageError("'" + a.name + "' compares trainings, which are combined in one way: use --design factorial.");
    if (a.built_alike)
      throw UsageError("'" + a.name + "' cannot be combined with others: leave it out, or use --design one_off.");
    const auto by_itself = [](const auto& side) { return static_cast<bool>(side.arm); };
    if (std::any_of(a.variants.begin(), a.variants.end(), by_itself) ||
        std::any_of(a.settings.begin(), a.settings.end(), by_itself))
      throw UsageError(
          "'" + a.name +
          "' measures an operation by itself, so it cannot be combined: leave it out, or use --design one_off.");
  }
}

// Under which every comparison of a combination is made. Of two ablations' settings, every one with every other would
// be asked for, which nobody means who names two ablations.
std::vector<Setting> common_settings(const std::vector<Ablation>& ablations) {
  const Ablation* with = nullptr;
  for (const Ablation& a : ablations) {
    if (a.settings.empty()) continue;
    if (with)
      throw UsageError("'" + with->name + "' and '" + a.name + "' both have settings of their own (" +
                       a.settings[0].name + ", ...): combine only one of them, or use --design one_off.");
    with = &a;
  }
  return with ? with->settings : std::vector<Setting>{{}};
}

// Every set of so many factors, the empty one first.
std::vector<Factors> all_sets(std::size_t factors) {
  std::vector<Factors> out;
  for (std::uint32_t set = 0; set < (1u << factors); ++set) {
    Factors& on = out.emplace_back();
    for (std::size_t f = 0; f < factors; ++f)
      if (set >> f & 1) on.push_back(f);
  }
  return out;
}

std::vector<Pairing> combinations_once(
    const std::vector<Ablation>& ablations, const std::string& design, const Capabilities& here) {
  std::vector<Pairing> out;
  const std::size_t n = ablations.size();
  Factors all;
  for (std::size_t f = 0; f < n; ++f) all.push_back(f);
  if (design == "leave_one_out") {
    for (const std::size_t left_out : all) {
      Factors rest;
      std::copy_if(all.begin(), all.end(), std::back_inserter(rest), [&](std::size_t f) { return f != left_out; });
      out.push_back(combination(ablations, design, all, rest, here));
      out.back().ablation = "without " + ablations[left_out].name;
    }
  } else if (design == "ladder") {
    for (std::size_t rung = 1; rung <= n; ++rung)
      out.push_back(combination(ablations, design, Factors(all.begin(), all.begin() + rung - 1),
          Factors(all.begin(), all.begin() + rung), here));
    out.push_back(combination(ablations, design, {}, all, here));
  } else {
    for (const Factors& on : all_sets(n))
      if (!on.empty()) out.push_back(combination(ablations, design, {}, on, here));
  }
  return out;
}

std::vector<Pairing> combinations(const std::vector<Ablation>& ablations, const std::string& design,
    const Capabilities& here, const train::Recipe& recipe) {
  check_factors(ablations, design);
  check_disjoint(ablations, recipe);
  std::vector<Pairing> out;
  for (const Setting& setting : common_settings(ablations))
    for (Pairing& p : combinations_once(ablations, design, here)) {
      p.setting = setting;
      out.push_back(std::move(p));
    }
  return out;
}

}  // namespace

std::vector<Pairing> pairings(const std::vector<Ablation>& ablations, const std::string& design,
    const Capabilities& here, std::int64_t repetitions, const train::Recipe& recipe) {
  if (design == "one_off") return one_off(ablations, here, repetitions);
  if (design == "null") return null(ablations, here, repetitions);
  if (design == "leave_one_out" || design == "ladder" || design == "factorial")
    return combinations(ablations, design, here, recipe);
  throw UsageError("There is no design '" + design + "': one_off, leave_one_out, ladder, factorial or null.");
}

std::vector<Ablation> trainings(const std::vector<Ablation>& ablations, const std::string& design) {
  std::vector<Ablation> compared;
  std::copy_if(ablations.begin(), ablations.end(), std::back_inserter(compared),
      [](const Ablation& a) { return a.convergence.seeds > 0; });
  if (design == "one_off") return compared;
  if (design != "factorial" || compared.empty()) return {};
  Ablation all{.name = design, .promise = Promise::kOtherWork};
  std::vector<std::function<void(train::Recipe&)>> changes;
  for (const Ablation& a : ablations) {
    all.question += (all.question.empty() ? "" : " ") + a.question;
    all.expectation += (all.expectation.empty() ? "" : " ") + a.expectation;
    all.convergence.seeds = std::max(all.convergence.seeds, a.convergence.seeds);
    if (a.convergence.change) changes.push_back(a.convergence.change);
    if (!a.convergence.ends.empty()) all.convergence.ends = a.convergence.ends;
  }
  all.convergence.change = [changes](train::Recipe& r) {
    for (const auto& change : changes) change(r);
  };
  for (const Factors& on : all_sets(ablations.size())) all.variants.push_back(combined(ablations, on));
  return {all};
}

}  // namespace ttt::ablations
