// The verdict of `ablate` over all its comparisons.
#pragma once

#include <map>

#include "app/app.h"
#include "measure/design.h"
#include "result/comparison.h"

namespace ttt::ablations {

class Judgement {
 public:
  void add(const Pairing& pairing, const result::Comparison& row);
  void add(const result::ConvergenceRow& row);
  // passed: every row was measured or says why not, every promise was kept, and the measuring found what it had to
  // find.
  harness::Outcome outcome() const;

 private:
  struct Proof {  // of the measuring: intervals of a known effect
    std::size_t n = 0, missed = 0;
  };
  std::size_t measured_ = 0, not_supported_ = 0, trainings_ = 0;
  std::vector<std::string> broken_;
  std::map<std::string, Proof> proofs_;
};

}  // namespace ttt::ablations
