#include "reports/claims.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <tuple>

#include "core/error.h"
#include "reports/groups.h"
#include "reports/run_names.h"
#include "reports/telemetry.h"
#include "result/exchange.h"
#include "result/result_file.h"
#include "settings/toml_json.h"

namespace ttt::reports {
namespace {

using result::BatchLadder;
using result::Comparison;
using result::Json;
using result::quote;
using result::RunRecord;

constexpr std::pair<Basis, std::string_view> kBases[] = {{Basis::kOwnFigures, "own figures"},
    {Basis::kOthers, "others"}, {Basis::kMeasurement, "measurement"}, {Basis::kNothing, "nothing yet"}};
constexpr std::pair<ClaimVerdict, std::string_view> kVerdicts[] = {
    {ClaimVerdict::kContradicted, "contradicted by its own source"}, {ClaimVerdict::kNotReproduced, "not reproduced"},
    {ClaimVerdict::kReproduced, "reproduced"}, {ClaimVerdict::kOpen, "cannot be judged here"}};

[[noreturn]] void refuse(const Claim& claim, const std::string& what) {
  throw DataError(
      "Claim " + std::to_string(claim.number) + " (" + claim.id + ") " + what + ". Correct it in the ledger.");
}

constexpr std::string_view kGradients = "gradients ", kBreaks = "breaks", kEpochs = "epochs ";
bool is_of_telemetry(const Check& c) { return c.quantity.starts_with(kGradients) || c.quantity == kBreaks; }

// "A" and "B" of "KIND A / B"; "" where the quantity is of another kind.
std::pair<std::string, std::string> ratio_of(const Check& c, std::string_view kind) {
  constexpr std::string_view kOver = " / ";
  const std::size_t over = c.quantity.find(kOver);
  if (!c.quantity.starts_with(kind) || over == std::string::npos) return {};
  return {c.quantity.substr(kind.size(), over - kind.size()), c.quantity.substr(over + kOver.size())};
}

// The batches of "epochs A / B"; 0 where they are no numbers.
std::pair<std::int64_t, std::int64_t> batches_of(const Check& c) {
  const auto [batch, than] = ratio_of(c, kEpochs);
  const auto number = [](const std::string& text) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc() && end == text.data() + text.size() ? n : 0;
  };
  return {number(batch), number(than)};
}

void check_claim(const Claim& claim, const Ledger& ledger) {
  if (!ledger.sources.contains(claim.source))
    refuse(claim, "names the source '" + claim.source + "', which has no title");
  if ((claim.by == Basis::kNothing) != claim.checks.empty())
    refuse(claim, "needs checks, or by = \"nothing yet\" without any");
  if ((claim.by == Basis::kNothing || claim.by == Basis::kMeasurement) && claim.takes.empty())
    refuse(claim, "does not say in `takes` what a verdict would take");
  for (const Check& c : claim.checks) {
    if (!c.at_least && !c.at_most) refuse(claim, "has the check '" + c.says + "' without a bound");
    const bool is_measured = claim.by == Basis::kMeasurement, is_compared = is_measured && !is_of_telemetry(c);
    if (c.value.empty() != is_measured || c.ablation.empty() == is_compared || c.variant.empty() == is_compared ||
        c.quantity.empty() == is_measured)
      refuse(claim, "has the check '" + c.says + "', which is not decided by what `by` says");
    if (c.quantity.starts_with(kGradients) && ratio_of(c, kGradients).second.empty())
      refuse(claim, "has the quantity '" + c.quantity + "', which names no two groups as \"gradients A / B\"");
    if (const auto [batch, than] = batches_of(c); c.quantity.starts_with(kEpochs) && (batch <= 0 || than <= 0))
      refuse(claim, "has the quantity '" + c.quantity + "', which names no two batches as \"epochs A / B\"");
  }
}

// A number of a published document: "SYSTEM / KEY", or a member "GROUP / KEY" of the document itself. Of a list of runs
// the Olympic mean, one that did not reach the target being the slowest.
double published_number(const Claim& claim, const Ledger& ledger, const std::string& reference) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 3) {
    end = reference.find(" / ", begin);
    parts.push_back(reference.substr(begin, end - begin));
  }
  const auto missing = [&]() { refuse(claim, "has the fact '" + reference + "', which is not published here"); };
  if (parts.size() != 3 || !ledger.published.contains(parts[0])) missing();
  const Json& document = ledger.published.at(parts[0]);
  const Json* object = document.contains(parts[1]) ? &document.at(parts[1]) : nullptr;
  if (!object && document.contains("systems"))
    for (const Json& system : document.at("systems"))
      if (system.value("system", "") == parts[1]) object = &system;
  if (!object || !object->is_object() || !object->contains(parts[2])) missing();
  const Json& value = object->at(parts[2]);
  if (value.is_number()) return value.get<double>();
  if (!value.is_array() || value.empty()) missing();
  auto runs = result::get_list<double>(*object, parts[2], quote(parts[0]) + ": " + parts[1]);
  if (const auto status = object->find("status"); status != object->end() && status->size() == runs.size())
    for (std::size_t i = 0; i < runs.size(); ++i)
      if ((*status)[i] != "success") runs[i] = std::numeric_limits<double>::infinity();
  if (runs.size() == 1) return runs[0];
  if (runs.size() < 5) refuse(claim, "has the fact '" + reference + "' of fewer than five runs, but more than one");
  return olympic_mean(runs);
}

Numbers numbers_of(const Claim& claim, const Ledger& ledger) {
  Numbers numbers;
  for (const auto& [name, fact] : claim.facts.items())
    if (fact.is_number()) numbers[name] = fact.get<double>();
    else if (fact.is_string()) numbers[name] = published_number(claim, ledger, fact.get<std::string>());
    else refuse(claim, "has the fact '" + name + "', which is neither a number nor a text");
  return numbers;
}

std::optional<Interval> times_hundred(const std::optional<Interval>& i) {
  if (!i) return i;
  return Interval{100 * i->estimate, 100 * i->low, 100 * i->high};
}

// The quantity of a check in one comparison; nothing where it was not measured.
std::optional<Interval> measured(const Check& check, const Comparison& c) {
  const auto exact = [](double x) { return Interval{x, x, x}; };
  const auto of_pair = [](const Json& pairs, const std::string& name) -> std::optional<std::array<double, 2>> {
    const auto found = pairs.find(name);
    if (found == pairs.end() || (*found)[0].get<double>() == 0) return {};
    return std::array{(*found)[0].get<double>(), (*found)[1].get<double>()};
  };
  if (check.quantity == "time") return times_hundred(result::effect(c.samples));
  if (check.quantity == "difference") return exact(c.largest_difference);
  constexpr std::string_view kPhase = "phase ";
  if (check.quantity.starts_with(kPhase)) {
    const std::string phase = check.quantity.substr(kPhase.size());
    const auto changes = result::phase_changes(c.samples);
    const auto means = of_pair(c.phases, phase);
    const auto change = changes.find(phase);
    if (!means || change == changes.end()) return {};
    const double scale = 100 / (*means)[0];
    return Interval{scale * change->second.estimate, scale * change->second.low, scale * change->second.high};
  }
  const auto means = of_pair(c.counters, check.quantity);
  return means ? std::optional(exact(100 * ((*means)[1] / (*means)[0] - 1))) : std::nullopt;
}

// The quantity of a check in one comparison of trainings.
std::optional<Interval> measured(const Check& check, result::ConvergenceRow row) {
  if (!check.baseline.empty()) row.baseline = check.baseline;
  const auto e = row.fixed_steps ? result::exchange(row, check.variant) : std::nullopt;
  if (!e) return std::nullopt;
  if (check.quantity == "steps") return times_hundred(e->steps);
  const auto change = e->metrics.find(check.quantity);
  if (change == e->metrics.end()) return std::nullopt;
  const double scale = 100 / e->means.at(check.quantity);  // whose own error is small beside the difference's
  return Interval{scale * change->second.estimate, scale * change->second.low, scale * change->second.high};
}

// The quantity of a check in one ladder.
std::optional<Interval> measured(const Check& check, const BatchLadder& ladder) {
  const auto [batch, than] = batches_of(check);
  return ladder.variant == check.variant ? result::epochs_ratio(ladder, batch, than) : std::nullopt;
}

// Whether an earlier run made the trainings that decide: a ladder that goes on from another holds its trainings too.
bool has_from_earlier(
    const Check& check, const NamedRun& run, const BatchLadder& ladder, std::span<const NamedRun> runs) {
  const auto [batch, than] = batches_of(check);
  const auto started = [](const NamedRun& r) { return text_at(r.record.provenance, "started_at", ""); };
  return std::ranges::any_of(runs, [&](const NamedRun& other) {
    return started(other) < started(run) && std::ranges::any_of(other.record.batch_ladders, [&](const BatchLadder& l) {
      return l.variant == ladder.variant && std::ranges::all_of(ladder.trainings, [&](const auto& t) {
        return (t.batch != batch && t.batch != than) || std::ranges::find(l.trainings, t) != l.trainings.end();
      });
    });
  });
}

// The quantity of a check in one run's telemetry.
std::optional<Interval> measured(const Check& check, const RunRecord& r) {
  if (check.quantity == kBreaks) {
    const auto breaks = breaks_at_decay(r);
    const double x = breaks.value_or(false) ? 100 : 0;
    return breaks ? std::optional(Interval{x, x, x}) : std::nullopt;
  }
  const auto [above, below] = ratio_of(check, kGradients);
  const auto ratio = norm_ratio(r, above, below);
  return ratio ? ratio->interval : std::nullopt;
}

enum class Where { kClaimed, kOtherDevice, kFewerRanks };
Where where(const Check& check, const RunRecord& r) {
  if (ranks_of(r) < check.ranks) return Where::kFewerRanks;
  const bool is_claimed = check.device.empty() || text_at(r.recipe.settings, "device", "cpu") == check.device;
  return is_claimed ? Where::kClaimed : Where::kOtherDevice;
}

std::string command_text(const RunRecord& r) {
  const auto words = r.provenance.find("command");
  return words == r.provenance.end() ? "" : result::joined(words->get<std::vector<std::string>>(), " ");
}

// The newest of each machine and setting. Of trainings and gradients the setting is the recipe. Of breaks the seed is
// part of it: each run counts.
std::vector<Evidence> evidence_of(const Check& check, const std::vector<NamedRun>& runs, Where wanted) {
  std::map<std::pair<std::string, std::string>, std::pair<std::string, Evidence>> newest;
  for (const NamedRun& run : runs) {
    const RunRecord& r = run.record;
    if (where(check, r) != wanted) continue;
    const auto add = [&](const std::optional<Interval>& value, const std::string& setting) {
      if (!value || (!check.setting.empty() && setting != check.setting)) return;
      const std::string started = text_at(r.provenance, "started_at", "");
      auto& [when, found] = newest[{system_text(r), setting}];
      if (found.check && when >= started) return;
      when = started;
      found = {.check = &check,
          .value = *value,
          .outcome = outcome_of(*value, check),
          .detail = system_text(r) + (setting.empty() ? "" : ", " + setting),
          .file = run.name,
          .command = command_text(r)};
    };
    for (const Comparison& c : r.comparisons)
      if (check.baseline.empty() && c.ablation == check.ablation && c.variant == check.variant &&
          c.status == "measured" && c.design == "one_off")
        add(measured(check, c), c.setting);
    for (const result::ConvergenceRow& row : r.convergence)
      if (row.ablation == check.ablation) add(measured(check, row), "recipe " + r.recipe.name);
    for (const BatchLadder& ladder : r.batch_ladders)
      if (ladder.ablation == check.ablation && !has_from_earlier(check, run, ladder, runs))
        add(measured(check, ladder), "recipe " + r.recipe.name);
    if (is_of_telemetry(check))
      add(measured(check, r),
          "recipe " + r.recipe.name +
              (check.quantity == kBreaks ? ", seed " + plain_text(r.recipe.settings.value("seed", Json())) : ""));
  }
  std::vector<Evidence> all;
  for (auto& [key, entry] : newest) all.push_back(std::move(entry.second));
  return all;
}

ClaimVerdict verdict_of(const Claim& claim, const std::vector<Evidence>& evidence) {
  const auto is = [](Outcome outcome) { return [outcome](const Evidence& f) { return f.outcome == outcome; }; };
  if (std::any_of(evidence.begin(), evidence.end(), is(Outcome::kFails)))
    return claim.by == Basis::kOwnFigures ? ClaimVerdict::kContradicted : ClaimVerdict::kNotReproduced;
  std::set<const Check*> decided;
  for (const Evidence& f : evidence) decided.insert(f.check);
  const bool all = !evidence.empty() && decided.size() == claim.checks.size() &&
                   std::all_of(evidence.begin(), evidence.end(), is(Outcome::kHolds));
  return all ? ClaimVerdict::kReproduced : ClaimVerdict::kOpen;
}

void add_measurements(const Check& check, const std::vector<NamedRun>& runs, Judgement& j) {
  std::vector<Evidence> claimed = evidence_of(check, runs, Where::kClaimed),
                        other = evidence_of(check, runs, Where::kOtherDevice),
                        fewer = evidence_of(check, runs, Where::kFewerRanks);
  if (claimed.empty() && check.elsewhere && !other.empty()) claimed.swap(other), j.elsewhere = true;
  std::ranges::move(claimed, std::back_inserter(j.evidence));
  std::ranges::move(other, std::back_inserter(j.beside));
  std::ranges::move(fewer, std::back_inserter(j.beside));
}

Judgement judgement_of(const Claim& claim, const Ledger& ledger, const std::vector<NamedRun>& runs) {
  Judgement j{.claim = &claim};
  const Numbers numbers = numbers_of(claim, ledger);
  for (const Check& check : claim.checks) {
    if (claim.by == Basis::kMeasurement) {
      add_measurements(check, runs, j);
      continue;
    }
    const double x = evaluate(check.value, numbers);
    const Interval value{x, x, x};
    j.evidence.push_back({.check = &check,
        .value = value,
        .outcome = outcome_of(value, check),
        .detail = with_numbers(check.value, numbers)});
  }
  j.verdict = verdict_of(claim, j.evidence);
  return j;
}

}  // namespace

std::span<const std::pair<Basis, std::string_view>> words_of(Basis) { return kBases; }
std::span<const std::pair<ClaimVerdict, std::string_view>> words_of(ClaimVerdict) { return kVerdicts; }

Outcome outcome_of(const Interval& value, const Check& check) {
  const double low = check.at_least.value_or(-std::numeric_limits<double>::infinity()),
               high = check.at_most.value_or(std::numeric_limits<double>::infinity());
  if (value.low > high || value.high < low) return Outcome::kFails;
  return value.low >= low && value.high <= high ? Outcome::kHolds : Outcome::kStraddles;
}

Ledger parse_ledger(const std::string& text, std::map<std::string, Json> published) {
  const Json document = harness::toml_json(text, kLedgerFile);
  Ledger ledger{.published = std::move(published)};
  for (const auto& [key, source] : result::get_object(document, "source", kLedgerFile).items())
    ledger.sources[key] = result::get<std::string>(source, "title", key);
  std::set<std::string> taken;
  for (const Json& entry : result::get_array(document, "claim", kLedgerFile)) {
    const std::string path = "claim[" + std::to_string(ledger.claims.size()) + "]";
    const Claim& claim = ledger.claims.emplace_back(result::record_from_json<Claim>(entry, path));
    result::refuse_unknown_keys(entry, result::detail::value_json(claim), path, "claim");
    check_claim(claim, ledger);
    if (!taken.insert(claim.id).second || !taken.insert(std::to_string(claim.number)).second)
      refuse(claim, "has a number or an id that another claim has");
  }
  return ledger;
}

Ledger read_ledger(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kLedgerFile;
  if (!std::filesystem::is_regular_file(file))
    throw UsageError(
        "There is no ledger " + quote(file) + ". Name the folder of results that holds " + kLedgerFile + ".");
  std::map<std::string, Json> published;
  if (const auto others = folder / "published"; std::filesystem::is_directory(others))
    for (const auto& entry : std::filesystem::directory_iterator(others))
      if (entry.path().extension() == ".json")
        published[entry.path().filename().string()] =
            result::parse(result::read_text(entry.path().string()), quote(entry.path()));
  return parse_ledger(result::read_text(file.string()), std::move(published));
}

std::vector<Judgement> judge(const Ledger& ledger, const std::vector<NamedRun>& runs) {
  std::vector<Judgement> all;
  for (const Claim& claim : ledger.claims) all.push_back(judgement_of(claim, ledger, runs));
  return all;
}

}  // namespace ttt::reports
