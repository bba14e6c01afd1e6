// Where a series of measurements steps to another level.
#pragma once

#include <cstddef>
#include <vector>

namespace ttt::reports {

inline constexpr std::size_t kLeastSeries = 10;  // samples; of fewer, more orders than kFalseAlarms reach any step
inline constexpr double kFalseAlarms = 0.01;     // of series without a step, the share in which one is found

// Index of the first sample after each step, ascending. Three samples or more lie on each side.
// Pettitt's statistic (Applied Statistics 28, 1979) compares the ranks of both sides of a place. The largest one
// counts, each over its own deviation, over the series and stretches of it (seeded binary segmentation, Kovacs et al.,
// Biometrika 110, 2023). It is a step where at most kFalseAlarms of random orders of the series reach it, as in
// MongoDB's detector (Daly et al., ICPE 2020). Then both sides are searched alike. No distribution is assumed.
std::vector<std::size_t> change_points(const std::vector<double>& series);

}  // namespace ttt::reports
