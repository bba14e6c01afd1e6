#include "result/peer_ratio.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace ttt::result {
namespace {

std::vector<double> logarithms(std::vector<double> rates) {
  for (double& rate : rates) rate = std::log(rate);
  return rates;
}

PeerRatio ratio_of(const std::vector<double>& ours, const std::vector<double>& theirs) {
  PeerRatio r{.ours = median(ours), .theirs = median(theirs)};
  r.ratio = r.ours / r.theirs;
  if (const auto shift = rank_sum_interval(logarithms(theirs), logarithms(ours))) {
    r.ratio = std::exp(shift->estimate);
    r.interval = Bounds{std::exp(shift->low), std::exp(shift->high)};
  }
  return r;
}

}  // namespace

void PeerRatios::add(const std::string& benchmark, const std::string& unit, double rate) {
  const std::size_t shape = benchmark.find('/'), side = benchmark.find('/', shape + 1);
  if (!unit.ends_with("/s") || !(rate > 0) || shape == std::string::npos || side == std::string::npos) return;
  const std::string name = benchmark.substr(0, side);
  auto at = std::find_if(
      operations_.begin(), operations_.end(), [&](const Operation& o) { return o.name == name && o.unit == unit; });
  if (at == operations_.end()) at = operations_.insert(at, Operation{name, unit, {}});
  at->rates_of_side[benchmark.substr(side + 1, benchmark.find('/', side + 1) - side - 1)].push_back(rate);
}

std::vector<PeerRatio> PeerRatios::rows() const {
  std::vector<PeerRatio> rows;
  for (const Operation& o : operations_) {
    const auto ours = o.rates_of_side.find("ours");
    if (ours == o.rates_of_side.end()) continue;
    std::optional<PeerRatio> least;
    for (const auto& [side, rates] : o.rates_of_side) {
      if (side.starts_with("ours")) continue;
      PeerRatio r = ratio_of(ours->second, rates);
      if (least && least->theirs >= r.theirs) continue;
      r.operation = o.name, r.peer = side, r.unit = o.unit;
      least = std::move(r);
    }
    if (least) rows.push_back(std::move(*least));
  }
  return rows;
}

double geometric_mean(const std::vector<PeerRatio>& rows) {
  std::vector<double> logs;
  for (const PeerRatio& r : rows) logs.push_back(std::log(r.ratio));
  return std::exp(sum(logs) / static_cast<double>(logs.size()));
}

std::string peer_answer(const std::vector<PeerRatio>& rows) {
  if (rows.empty()) return "";
  int faster = 0, slower = 0, unsure = 0, without = 0;
  for (const PeerRatio& r : rows)
    ++(!r.interval ? without : r.interval->low > 1 ? faster : r.interval->high < 1 ? slower : unsure);
  std::string answer =
      fixed("ours is %.3g times as fast as the fastest peer (geometric mean over ", geometric_mean(rows)) +
      counted(rows.size(), "operation") + ")";
  if (without < static_cast<int>(rows.size()))
    answer += fixed(": %d faster, %d slower, %d no difference shown", faster, slower, unsure);
  if (without == 0) return answer + ".";
  return answer + fixed(
                      "; %d with no interval: fewer than 4 repetitions. For intervals give micro "
                      "--benchmark_repetitions=4 --benchmark_enable_random_interleaving=true, or micro_all_reduce "
                      "--rounds 4.",
                      without);
}

}  // namespace ttt::result
