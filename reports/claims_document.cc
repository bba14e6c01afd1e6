// Sentences and tables of `report claims`.
#include <algorithm>

#include "core/error.h"
#include "core/nearest.h"
#include "core/text.h"
#include "reports/claims.h"
#include "reports/command_line.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

using result::joined;

std::string word(ClaimVerdict verdict) { return std::string(result::detail::word_of(verdict)); }

std::string capitalised(std::string_view words) {
  std::string text(words);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string with_unit(const std::string& number, const Check& check) {
  return check.unit.empty() ? number : number + " " + check.unit;
}

std::string number_text(const Evidence& f, double value) {
  const bool is_change = !f.check->ablation.empty() && f.check->quantity != "difference";
  return fixed(is_change ? "%+.1f" : "%.4g", value);
}

// "-4.0 % (-4.7 to -3.3)"; one number where it is exact.
std::string value_text(const Evidence& f) {
  const Interval& v = f.value;
  const std::string estimate = with_unit(number_text(f, v.estimate), *f.check);
  if (v.low == v.high) return estimate;
  return estimate + " (" + number_text(f, v.low) + " to " + number_text(f, v.high) + ")";
}

std::string bounds_text(const Check& c) {
  const auto number = [](double x) { return fixed("%.6g", x); };
  if (c.at_least && c.at_most) return with_unit(number(*c.at_least) + " to " + number(*c.at_most), c);
  return with_unit(c.at_least ? "at least " + number(*c.at_least) : "at most " + number(*c.at_most), c);
}

std::string evidence_text(const Evidence& f) {
  const bool is_measured = !f.check->ablation.empty();
  return f.check->says + ": " + value_text(f) + (is_measured ? ", " + f.detail : "");
}

// The entries of one check together: "-4.0 to -1.2 %, 4 results"; of a single one its machine.
std::string check_text(const std::vector<const Evidence*>& entries) {
  const Evidence& first = *entries[0];
  if (entries.size() == 1) return evidence_text(first);
  const auto [least, most] = std::minmax_element(entries.begin(), entries.end(),
      [](const Evidence* a, const Evidence* b) { return a->value.estimate < b->value.estimate; });
  const std::string number = number_text(**least, (*least)->value.estimate),
                    last = number_text(**most, (*most)->value.estimate);
  return first.check->says + ": " + with_unit(number == last ? number : number + " to " + last, *first.check) + ", " +
         std::to_string(entries.size()) + " results";
}

// What decided; of a refuted claim the numbers that refute it.
std::string found_text(const Judgement& j) {
  const bool is_refuted = j.verdict == ClaimVerdict::kContradicted || j.verdict == ClaimVerdict::kNotReproduced;
  std::vector<std::string> texts;
  for (const Check& check : j.claim->checks) {
    std::vector<const Evidence*> entries;
    for (const Evidence& e : j.evidence)
      if (e.check == &check && e.outcome == (is_refuted ? Outcome::kFails : Outcome::kHolds)) entries.push_back(&e);
    if (!entries.empty()) texts.push_back(check_text(entries));
  }
  return joined(texts, "; ");
}

std::string beside_text(const Judgement& j) {
  std::vector<std::string> texts;
  for (const Evidence& f : j.evidence)
    texts.push_back(evidence_text(f) + (f.outcome == Outcome::kStraddles ? ", which reaches over the bound" : ""));
  for (const Evidence& f : j.beside) texts.push_back(evidence_text(f) + ", which does not decide");
  return joined(texts, "; ");
}

std::string scope_text(const Judgement& j) {
  const bool is_elsewhere = j.elsewhere && j.verdict != ClaimVerdict::kOpen;
  return is_elsewhere ? joined(std::vector<std::string>{"On CPUs.", j.claim->scope}, " ") : j.claim->scope;
}

std::string name_text(const Claim& claim) { return std::to_string(claim.number) + ". " + claim.words; }

Table decided_table(const std::vector<Judgement>& all, ClaimVerdict verdict) {
  Table t{.header = {"claim", "found", "scope"}};
  for (const Judgement& j : all)
    if (j.verdict == verdict) t.rows.push_back({name_text(*j.claim), found_text(j), scope_text(j)});
  return t;
}

Table open_table(const std::vector<Judgement>& all) {
  Table t{.header = {"claim", "what it takes", "beside it"}};
  for (const Judgement& j : all)
    if (j.verdict == ClaimVerdict::kOpen) t.rows.push_back({name_text(*j.claim), j.claim->takes, beside_text(j)});
  return t;
}

Document details(const Judgement& j, const Ledger& ledger) {
  const Claim& c = *j.claim;
  Table t{.header = {"", ""}, .headless = true};
  const auto add = [&](Label name, const std::string& text) {
    if (!text.empty()) t.add(name, {text});
  };
  add("verdict", word(j.verdict));
  add("scope", scope_text(j));
  add("source", ledger.sources.at(c.source) + (c.place.empty() ? "" : ", " + c.place));
  add("hardware", c.hardware);
  add("decided by", std::string(result::detail::word_of(c.by)));
  for (const Check& check : c.checks) add("bound", check.says + ": " + bounds_text(check));
  if (!c.checks.empty())
    add("reason of the bounds", c.reason.empty() ? "Half a unit of the last digit that the source gives." : c.reason);
  for (const auto& [name, fact] : c.facts.items())
    add("fact", name + " = " + (fact.is_string() ? fact.get<std::string>() : fixed("%.10g", fact.get<double>())));
  for (const auto* list : {&j.evidence, &j.beside})
    for (const Evidence& f : *list) {
      const std::string note = list == &j.beside ? ", which does not decide" : "";
      const bool is_measured = !f.check->ablation.empty();
      add("found", evidence_text(f) + (is_measured ? "" : " = " + f.detail) + note);
      add("file", f.file), add("command", f.command);
    }
  if (j.verdict == ClaimVerdict::kOpen) add("what it takes", c.takes);
  return {Heading{name_text(c)}, std::move(t)};
}

}  // namespace

std::string claims_answer(const std::vector<Judgement>& all) {
  std::vector<std::string> parts;
  for (const auto& [verdict, words] : words_of(ClaimVerdict{}))
    if (const auto n = std::count_if(all.begin(), all.end(), [&](const Judgement& j) { return j.verdict == verdict; }))
      parts.push_back(std::to_string(n) + " " + std::string(words));
  return result::counted(all.size(), "published claim") + ": " + joined(parts) + ".";
}

Document claims(const Ledger& ledger, const std::vector<NamedRun>& runs, bool all) {
  const std::vector<Judgement> judgements = judge(ledger, runs);
  Document d{Paragraph{claims_answer(judgements)}};
  for (const auto& [verdict, words] : words_of(ClaimVerdict{})) {
    Table t = decided_table(judgements, verdict);
    if (verdict == ClaimVerdict::kOpen || t.rows.empty()) continue;
    d.push_back(Heading{capitalised(words)});
    d.push_back(std::move(t));
  }
  Table open = open_table(judgements);
  if (all && !open.rows.empty()) {
    d.push_back(Heading{capitalised(word(ClaimVerdict::kOpen))});
    d.push_back(std::move(open));
  } else if (!open.rows.empty()) {
    d.push_back(Paragraph{"What the others would take: report claims --all. All about one: report claims --claim 3."});
  }
  return d;
}

Document claim(const Ledger& ledger, const std::vector<NamedRun>& runs, const std::string& which) {
  std::vector<std::string> names;
  for (const Judgement& j : judge(ledger, runs)) {
    if (std::to_string(j.claim->number) == which || j.claim->id == which) return details(j, ledger);
    names.push_back(j.claim->id);
  }
  throw UsageError("There is no claim '" + which + "'." + nearest_and(which, names, "report claims --all lists them."));
}

static std::function<int()> declare_claims(CLI::App& command) {
  struct Arguments {
    std::string folder = "results", which;
    bool all = false;
    Output output;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("folder", a->folder, "Folder of results that holds claims.toml; by default 'results'");
  command.add_flag("--all", a->all, "Also those that cannot be judged here, and what a verdict would take");
  command.add_option("--claim", a->which, "All about one: its number or its id");
  add_output_options(command, a->output);
  command.footer(
      "Each published claim of FOLDER/claims.toml gets one verdict. Bounds and what decides stand in that file.\n\n"
      "Examples: report claims\n"
      "          report claims results --all\n"
      "          report claims --claim sync-free");
  return [a] {
    const Ledger ledger = read_ledger(a->folder);
    const Runs all = read_runs({.files = {a->folder}});
    print(a->which.empty() ? claims(ledger, all.runs, a->all) : claim(ledger, all.runs, a->which), a->output);
    return all.exit_code;
  };
}

const Command kClaims = {"claims", "A verdict on each published claim: reproduced or not, by what", declare_claims};

}  // namespace ttt::reports
