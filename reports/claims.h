// The ledger of published claims: what each says, what decides it, and the verdict that results allow.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/compare.h"
#include "reports/expression.h"
#include "result/record_fields.h"

namespace ttt::reports {

enum class Basis { kOwnFigures, kOthers, kMeasurement, kNothing };
std::span<const std::pair<Basis, std::string_view>> words_of(Basis);

// What must hold for a claim. Either the value of an expression, or a quantity of measured comparisons.
struct Check {
  std::string says;   // what the number is
  std::string value;  // an expression of the claim's facts

  // Of comparisons `variant` against the ablation's baseline: a change in per cent. "time", "phase NAME" or a counter;
  // "difference" is the largest relative difference of a result. Of trainings: "steps" to equal accuracy, or a metric.
  // Of a ladder of batches: "epochs A / B" is the ratio of epochs to the target at these two.
  // Without an ablation, of runs with telemetry: "gradients A / B" is the ratio of two groups. "breaks" is 100 for a
  // run whose weight norm changes where the learning rate first falls, else 0.
  std::string ablation, variant, setting, quantity;
  std::string baseline;  // of trainings: the variant's other side, another variant; empty: the ablation's baseline
  std::string device;    // that the claim is about; empty: any
  // Where there is no result of that device, others decide, within their scope. For claims that name no device and that
  // hardware of another kind can still support or contradict.
  bool elsewhere = false;
  std::int64_t ranks = 0;  // that it takes at least

  std::optional<double> at_least, at_most;
  std::string unit;

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("says", c.says, "what the number is");
    v.optional("value", c.value, "an expression of the claim's facts");
    v.optional("ablation", c.ablation, "whose comparisons decide");
    v.optional("variant", c.variant, "of the ablation, against its baseline");
    v.optional("baseline", c.baseline, "of trainings: another variant as the baseline");
    v.optional("setting", c.setting, "of the comparison; absent: every one");
    v.optional("quantity", c.quantity,
        "time, phase NAME, a counter, difference; of trainings steps or a metric; of a ladder epochs A / B; of "
        "telemetry gradients A / B, breaks");
    v.optional("device", c.device, "that the claim is about; absent: any");
    v.optional("elsewhere", c.elsewhere, "other devices decide, too, where there is no result of that one");
    v.optional("ranks", c.ranks, "at least");
    v.optional("at_least", c.at_least, "");
    v.optional("at_most", c.at_most, "");
    v.optional("unit", c.unit, "of value and bounds");
  }
};

struct Claim {
  std::int64_t number = 0;
  std::string id, source, place, words, hardware;
  Basis by = Basis::kNothing;
  std::string reason;  // of the bounds; empty: half a unit of the last digit that the source gives
  std::string scope;   // what the verdict says, and what it does not
  std::string takes;   // what a verdict would take where there is none
  // Numbers that the source gives, and "FILE / SYSTEM / KEY" of the folder of published results.
  result::Json facts = result::Json::object();
  std::vector<Check> checks;

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("number", c.number, ""), v("id", c.id, ""), v("source", c.source, "key of its title");
    v.optional("place", c.place, "in the source");
    v("words", c.words, "what it says");
    v.optional("hardware", c.hardware, "that it is about");
    v("by", c.by, "what decides it");
    v.optional("reason", c.reason, "of the bounds");
    v.optional("scope", c.scope, "what the verdict says, and what not");
    v.optional("takes", c.takes, "what a verdict would take");
    v.template later_described<result::Named<result::Anything>>("facts", c.facts, "numbers by name");
    v.later("check", c.checks, "all of which must hold");
  }
};

struct Ledger {
  std::vector<Claim> claims;
  std::map<std::string, std::string> sources;     // titles
  std::map<std::string, result::Json> published;  // documents of results/published by their file's name
};

inline constexpr const char* kLedgerFile = "claims.toml";

// FOLDER/claims.toml with the documents of FOLDER/published. Throws UsageError where there is no such file or it is no
// TOML. Throws DataError for an unknown key, a check that cannot decide, and a number or an id given twice.
Ledger read_ledger(const std::filesystem::path& folder);
// The same of a text; `published` are the documents that facts may name.
Ledger parse_ledger(const std::string& text, std::map<std::string, result::Json> published);

enum class ClaimVerdict { kContradicted, kNotReproduced, kReproduced, kOpen };
std::span<const std::pair<ClaimVerdict, std::string_view>> words_of(ClaimVerdict);

enum class Outcome { kHolds, kFails, kStraddles };

// A number that bears on a check.
struct Evidence {
  const Check* check = nullptr;
  Interval value;  // both ends are the estimate where it is exact
  Outcome outcome = Outcome::kStraddles;
  std::string detail;         // the arithmetic with its numbers, or machine and setting
  std::string file, command;  // of the result, of a measurement
};

struct Judgement {
  const Claim* claim = nullptr;
  ClaimVerdict verdict = ClaimVerdict::kOpen;
  bool elsewhere = false;  // results of another device than the claim's decided
  std::vector<Evidence> evidence;
  std::vector<Evidence> beside;  // of another device or of fewer ranks: they do not decide
};

// Whether an interval lies within the bounds of a check with both ends.
Outcome outcome_of(const Interval& value, const Check& check);

// One judgement for each claim, in the ledger's order; they point into it. Of a machine's comparisons of one setting
// the newest counts. One piece of evidence that fails refutes; an interval over a bound decides nothing. Throws
// DataError for a fact that is not published, and for arithmetic that has no value.
std::vector<Judgement> judge(const Ledger& ledger, const std::vector<NamedRun>& runs);

// "64 claims: 17 reproduced, ..."
std::string claims_answer(const std::vector<Judgement>& judgements);
// Those decided; with `all`, also what the others would take.
Document claims(const Ledger& ledger, const std::vector<NamedRun>& runs, bool all);
// Everything about one, by its number or its id. Throws UsageError naming the nearest.
Document claim(const Ledger& ledger, const std::vector<NamedRun>& runs, const std::string& which);

}  // namespace ttt::reports
