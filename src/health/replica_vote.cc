#include "health/replica_vote.h"

#include <algorithm>
#include <map>

namespace ttt::train {

std::optional<Disagreement> find_disagreement(const std::vector<std::vector<std::uint64_t>>& hashes) {
  std::map<std::vector<std::uint64_t>, int> votes;
  for (const auto& own : hashes) ++votes[own];
  if (votes.size() <= 1) return {};
  const auto by_votes = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(votes.begin(), votes.end(), by_votes);
  Disagreement d;
  d.majority = std::count_if(votes.begin(), votes.end(), [&](const auto& v) { return v.second == most->second; }) == 1;
  const std::vector<std::uint64_t>& right = d.majority ? most->first : hashes.front();
  d.first = right.size();
  for (std::size_t r = 0; r < hashes.size(); ++r) {
    if (hashes[r] == right) continue;
    d.ranks.push_back(static_cast<int>(r));
    const auto at = std::mismatch(right.begin(), right.end(), hashes[r].begin()).first;
    d.first = std::min(d.first, static_cast<std::size_t>(at - right.begin()));
  }
  return d;
}

}  // namespace ttt::train
