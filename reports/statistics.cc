#include "reports/statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ttt::reports {

double quantile(std::vector<double> samples, double q) {
  if (samples.empty() || !(q >= 0 && q <= 1))
    throw std::invalid_argument("quantile of no samples, or q outside [0, 1]");
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(samples.begin(), at, samples.end());
  if (below + 1 == samples.size()) return *at;
  const double lower = *at, upper = *std::min_element(at + 1, samples.end());
  return lower + (upper - lower) * (position - static_cast<double>(below));
}

double median(const std::vector<double>& samples) { return quantile(samples, 0.5); }

double sum(const std::vector<double>& samples) {
  double total = 0, lost = 0;
  for (const double x : samples) {
    const double next = total + x;
    lost += std::abs(total) >= std::abs(x) ? (total - next) + x : (x - next) + total;
    total = next;
  }
  return total + lost;
}

}  // namespace ttt::reports
