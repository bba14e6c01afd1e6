// Which replicas differ, from what each rank has computed of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ttt::train {

struct Disagreement {
  bool majority = false;   // more ranks agree on one set of values than on any other: they are taken for right
  std::vector<int> ranks;  // those that do not agree with them; without a majority: with the lowest rank
  std::size_t first = 0;   // the first part in which one of `ranks` differs
};

// `hashes[rank][part]`, equally many parts on every rank. Nothing where all are equal.
std::optional<Disagreement> find_disagreement(const std::vector<std::vector<std::uint64_t>>& hashes);

}  // namespace ttt::train
