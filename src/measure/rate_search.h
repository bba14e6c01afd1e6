// The search for a learning rate, and for the interval of rates that reach a target.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "result/batch_ladder.h"

namespace ttt::ablations {

// Rates are powers of two times a guess. First the best: from the guess and its double downhill, until both neighbours
// of the best are tried. Then the ends: outward from the best, until a rate does not reach the target in
// result::kReachingWithin times the best's epochs. Every rate that is tried is a trial, and trials are counted.
class RateSearch {
 public:
  static constexpr std::int64_t kFurthest = 6;  // powers of two from the guess that are tried at most

  explicit RateSearch(double guess) : guess_(guess) {}

  // Rates that are to be tried next, by themselves or together, the more urgent first. Empty: all is known.
  std::vector<double> wanted() const;
  // Of `rate`, one of wanted(): epochs to the target; nothing where it was not reached. It may have been given up after
  // kReachingWithin times the best's epochs so far. Once more for the same rate: what is known of it now.
  void add(double rate, std::optional<double> epochs);

  bool best_is_known() const;  // both its neighbours were tried, or it is an end of the range; or none reached it
  std::optional<double> best() const;  // nothing where no rate reached the target
  std::optional<double> best_epochs() const;

 private:
  bool is_open(double rate) const;  // not tried, and within the range

  double guess_;
  result::EpochsByRate tried_;
};

}  // namespace ttt::ablations
