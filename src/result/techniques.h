// Techniques as ranked rows: the comparisons of one result or several, those without a difference folded, and what to
// change in the recipe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "result/run_record.h"

namespace ttt::result {

// Where one side of a comparison stands towards the recipe that the comparison was started with.
struct Place {
  enum class Kind {
    kUnknown,    // not recorded, and no run tells
    kRecipe,     // the recipe as it is
    kSettings,   // other settings alone
    kElsewhere,  // only in the ablation's file
    kOther       // not what the named run built; whether settings make it is not recorded
  };
  Kind kind = Kind::kUnknown;
  std::vector<std::string> settings = {};  // "model.precision=bf16"
};

// A comparison that has an interval.
struct Technique {
  const Comparison* comparison = nullptr;  // of the record
  std::size_t result = 0;                  // index of the record
  std::string name;                        // see row_name()
  Interval effect;                         // relative change of the time, variant / baseline - 1
  bool whole_step = true;                  // false: of one operation alone
  Place baseline, variant;
  std::vector<std::string> conditions;  // settings of both sides that the recipe has otherwise
  bool disturbed = false;               // see is_disturbed()
  bool of_trainings = false;            // see is_of_trainings()

  // 0 is as good an explanation as the estimate.
  bool is_alike() const { return effect.low <= 0 && effect.high >= 0; }
  bool is_faster() const { return effect.high < 0; }
};

// Repetitions of one comparison whose effect is known: does the measuring find it?
//
// Of n intervals n / 8 may miss: 5 of 40, 2 of 20. Where each misses with 5 %, more than 5 of 40 do in 1.4 % of such
// proofs, and more than 2 of 20 in 7.5 %. Those of the harness miss less (measure/paired.h).
struct SelfTest {
  std::string ablation;
  std::size_t result = 0;
  std::optional<double> truth;           // of results of earlier programs unknown
  std::size_t intervals = 0, found = 0;  // that contain the truth, and exclude 0 where the truth does
  std::size_t wanted() const { return intervals - intervals / 8; }
  bool is_proof() const { return intervals >= 8; }  // fewer prove nothing together
  bool holds() const { return found >= wanted(); }
  // "40 of 40 intervals contain 0 (at least 35 wanted)"
  std::string text() const;
};

// The known relative effect. Earlier programs did not record it: there a repeated baseline alone is known, by its name.
std::optional<double> truth_of(const Comparison& c);

// Adds a repetition to the test that it is of.
void count(std::vector<SelfTest>& tests, const Comparison& comparison, std::size_t result = 0);

// Comparisons without a number, by the reason.
struct NotMeasured {
  std::string reason;  // "needs a GPU"
  std::size_t result = 0;
  std::vector<const Comparison*> comparisons;
};

struct Techniques {
  std::vector<Technique> ranked;  // with a difference, the fastest first; of several results, a technique's together
  std::vector<Technique> alike;   // without, in the same order
  std::vector<SelfTest> self_tests;
  std::vector<NotMeasured> not_measured;
};

// The rows of all records, which must outlive them. Results of earlier programs do not record what a side changes. What
// the trainings among `records` built then tells the recipe. Only those that passed count, if any did. Where two
// contradict each other, the place is unknown.
Techniques techniques(const std::vector<const RunRecord*>& records);

// Whether the comparison's ablation is about trainings, which the record has too. The time of its steps stands beside
// them: it is of another recipe than the comparisons of steps are, and often measured beside other work.
bool is_of_trainings(const RunRecord& record, const Comparison& comparison);

// A setting of the recipe that made a whole step faster.
struct Advice {
  std::vector<std::string> settings;  // "train.reducer.kind=blocking"
  double change = 0;                  // of the step's time, negative
  bool other_numbers = false;         // no promise: accuracy is to be checked
};
// Of the rows of one result, the best of each ablation, the largest gain first. It leaves out what was measured under
// other settings than the recipe's, and what was disturbed. Where no numbers are promised, a baseline is a reference
// and is not advised.
std::vector<Advice> advice(const std::vector<Technique>& ranked, std::size_t result);

// "--set model.precision=bf16 (-34.1 %, other numbers: check the accuracy)"; "" for none.
std::string advice_text(const std::vector<Advice>& all);

// Names of rows, "a, b (two threads; four threads)": an ablation stands for its rows where none of `others` is of it.
std::string folded_names(const std::vector<const Comparison*>& rows, const std::vector<const Comparison*>& others);
// "all intervals within +-2.1 %" of rows without a shown difference; disturbed ones are wide, and do not count.
std::string widths_text(const std::vector<const Technique*>& alike);

// One line about several rows: what it is about, and what there is to say.
struct Remark {
  std::string subject, text;
};
// "change these" and the advice as text; none without advice.
std::vector<Remark> advice_remarks(const Techniques& all, std::size_t result);
// Rows without a difference, with the widest of their intervals; what was not measured, by reason; self tests; what was
// disturbed; and what the result does not record. In names an ablation stands for its rows where it has no others.
std::vector<Remark> remarks(const Techniques& all, std::size_t result);

// "--set model.precision=bf16" where that makes the recipe faster; "in your recipe", "in your recipe, slower", "not in
// your recipe", "neither is yours", "not known".
std::string place_text(const Technique& technique);

// An interval whose half width is larger is disturbed: ten times the half width that a comparison asks for. On a quiet
// machine the widest of 46 has 3.6 % (2026-11-23_ablate_e92fd04/all.json of results/). On a busy one 17 of 46 have more
// than 5 % (2026-11-23_ablate_950afdc/all.json).
inline constexpr double kQuiet = 0.05;
bool is_disturbed(const Comparison& comparison);
// Noise from which on it is named. Shares are means over builds. The system counts in hundredths of a second, so one
// build of a tenth of a second may read 10 % of load where there is none.
inline constexpr double kOrdinary = 0.05;
// The most that was seen of it, and what to do: "builds differ by 25 %, 260 preemptions a step, other processes took
// 18 % of the processors. End them, or ask for whole nodes. Repeat when quiet." Each has an interval.
std::string disturbance(const std::vector<const Comparison*>& comparisons);

// Whether a comparison times whole training steps, or would have; else it timed one operation alone, which has no
// phases.
bool is_whole_step(const Comparison& comparison);
// Nothing where no time was taken or the builds are too few.
std::optional<Interval> measured_effect(const Comparison& comparison);
// The variant, with the setting under which it ran, and the number of its repetition from the second on.
std::string variant_text(const Comparison& comparison);
// "reducer: bucketed, 4 images a rank #2"
std::string row_name(const Comparison& comparison);

}  // namespace ttt::result
