// The verdict of `ablate` over all its comparisons.
#pragma once

#include "app/app.h"
#include "result/techniques.h"

namespace ttt::ablations {

class Judgement {
 public:
  void add(const result::Comparison& row);
  void add(const result::ConvergenceRow& row);
  void add(const result::BatchLadder& ladder);
  // passed: every row was measured or says why not, every promise was kept, and the measuring found what it had to
  // find.
  harness::Outcome outcome() const;

 private:
  std::size_t measured_ = 0, not_supported_ = 0, trainings_ = 0;
  std::vector<std::string> broken_;
  std::vector<result::SelfTest> self_tests_;
};

}  // namespace ttt::ablations
