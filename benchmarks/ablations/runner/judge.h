// What rows of comparisons say together: the verdict of the program.
#pragma once

#include "ablations/runner/ablation.h"
#include "harness/app.h"
#include "result/comparison.h"

namespace ttt::ablations {

class Judgement {
 public:
  void add(const Ablation& ablation, const std::vector<result::Comparison>& rows);
  // passed: every row was measured or says why not, every promise was kept, and the measuring found what it had to find.
  harness::Outcome outcome() const;

 private:
  std::size_t measured_ = 0, not_supported_ = 0;
  std::vector<std::string> broken_, proofs_, disproofs_;
};

}  // namespace ttt::ablations
