// Which variants are compared with which.
#pragma once

#include "measure/ablation.h"

namespace ttt::ablations {

// One comparison to be made: taken from an ablation, or combined from several.
struct Pairing {
  std::string design = "one_off";
  std::string ablation, question, expectation;
  std::vector<std::string> factors;  // of a combination: what is on in the variant
  Variant baseline, variant;
  Setting setting;
  Promise promise = Promise::kBitwise;
  double rtol = 0;
  double half_width = harness::PairedSettings().half_width, limit_s = harness::PairedSettings().limit_s;
  bool built_alike = false, under_load = false;
  int block_steps = 0, settle_steps = 0;
  std::int64_t repetition = 0, repetitions = 1;  // which, of how many
  std::string unsupported;                       // the reason, or ""
};

// one_off: each variant against its ablation's baseline, under each setting. Of the others, an ablation is a factor,
// off (its baseline) or on (its second variant):
//   leave_one_out: all on, against all but one; so many comparisons as factors
// ladder: one after the other is added, each rung against the one before, in the order in which they were named; last,
// all against none
//   factorial: every combination against none, of at most four factors
//   null: each baseline against itself, under each of its settings
// Combinations are made under each setting of the ablation that has some. Throws UsageError for another word, and for
// what cannot be combined. That is two factors that set one key of the recipe or replace one component, and two with
// settings of their own.
std::vector<Pairing> pairings(const std::vector<Ablation>& ablations, const std::string& design,
    const Capabilities& here, std::int64_t repetitions, const train::Recipe& recipe);

// The trainings of a design. one_off: of each ablation that compares convergence. factorial, where there is such an
// ablation: one set of trainings of every combination, from as many seeds as the most demanding factor. Others: none.
std::vector<Ablation> trainings(const std::vector<Ablation>& ablations, const std::string& design);

}  // namespace ttt::ablations
