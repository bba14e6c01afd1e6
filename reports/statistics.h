// The statistics that reports print; METRICS.md says which where. Programs store samples, only reports compute these.
#pragma once

#include <vector>

namespace ttt::reports {

// Quantile q in [0, 1] by linear interpolation between order statistics (Hyndman and Fan's type 7, numpy's default).
// Throws std::invalid_argument for no samples or a q outside [0, 1]. Samples are finite: results hold nothing else.
double quantile(std::vector<double> samples, double q);
double median(const std::vector<double>& samples);

// Sum with Neumaier's compensation: the error does not grow with the number of steps.
double sum(const std::vector<double>& samples);

}  // namespace ttt::reports
