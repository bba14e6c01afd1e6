// Speed of each operation against its fastest peer, from benchmarks that are named "operation/shape/side".
//
// The side "ours" is compared with every side that does not begin with "ours". Rates are work per second, one for each
// repetition.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"

namespace ttt::result {

struct PeerRatio {
  std::string operation, peer, unit;  // "nms/400_boxes", "simple_loop", "boxes/s"
  double ours = 0, theirs = 0;        // medians of the rates
  double ratio = 0;                   // ours / theirs: above 1 ours is faster
  std::optional<Bounds> interval;     // of the ratio, 95 %; nothing below 4 repetitions of either side
};

class PeerRatios {
 public:
  // A benchmark's rate in one repetition. Counters that are no rate ("/s" at the end of `unit`), benchmarks with fewer
  // than three parts in their name, and rates of 0 are passed over.
  void add(const std::string& benchmark, const std::string& unit, double rate);
  // In the order in which the operations were added.
  std::vector<PeerRatio> rows() const;

 private:
  struct Operation {
    std::string name, unit;
    std::map<std::string, std::vector<double>> rates_of_side;
  };
  std::vector<Operation> operations_;
};

double geometric_mean(const std::vector<PeerRatio>& rows);  // not empty

// "ours is 2.31 times as fast as the fastest peer (geometric mean over 31 operations): 24 faster, 3 slower, 4 no ...".
// Where intervals are missing it says how to get them. "" for no rows.
std::string peer_answer(const std::vector<PeerRatio>& rows);

}  // namespace ttt::result
