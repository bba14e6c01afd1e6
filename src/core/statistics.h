// The statistics that reports print (METRICS.md says which where), and by which a measurement decides that it has
// enough samples. Results hold samples, never these.
#pragma once

#include <optional>
#include <vector>

namespace ttt {

// Quantile q in [0, 1] by linear interpolation between order statistics (Hyndman and Fan's type 7, numpy's default).
// Throws std::invalid_argument for no samples or a q outside [0, 1]. Samples are finite: results hold nothing else.
double quantile(std::vector<double> samples, double q);
double median(const std::vector<double>& samples);

// Sum with Neumaier's compensation: the error does not grow with the number of steps.
double sum(const std::vector<double>& samples);

// MLPerf's score of several runs: the mean without the best and the worst one (MLPerf training rules, "Benchmark
// results"). A run that never reached its target counts as infinity, so it is the worst; with two of them the mean is
// infinite too. Throws std::invalid_argument for fewer than five runs.
double olympic_mean(std::vector<double> runs);

// Bounds of the median between which it lies with at least 95 %, whatever the distribution. The order statistics that
// the sign test does not reject (Hollander, Wolfe and Chicken 2013, section 3.6). Nothing below 6 samples.
struct Bounds {
  double low = 0, high = 0;
};
std::optional<Bounds> median_interval(std::vector<double> samples);

// The centre of a symmetric distribution: the median of all pairwise means, a sample with itself included (Hodges and
// Lehmann 1963). Throws std::invalid_argument for no samples.
double hodges_lehmann(const std::vector<double>& samples);

// Estimate and confidence interval of the centre of a symmetric distribution.
struct Interval {
  double estimate = 0, low = 0, high = 0;
};

// The Hodges-Lehmann estimate, and the interval that the Wilcoxon signed-rank test does not reject at the level 1 -
// `confidence`. Hollander, Wolfe and Chicken 2013, section 3.2; R's wilcox.test(conf.int = TRUE). No normality is
// assumed: from twelve samples on, one that a busy machine spoiled moves neither by much. Exact below 50 samples, by
// the normal approximation from there. Nothing where no interval from so few samples has that confidence: below 6 for
// 95 %, below 9 for 99.5 %.
std::optional<Interval> signed_rank_interval(const std::vector<double>& samples, double confidence = 0.95);

// By how much `b` lies above `a`, two independent samples. The median of all differences (Hodges and Lehmann), and the
// shifts that the Mann-Whitney test does not reject at the 5 % level (Hollander, Wolfe and Chicken 2013, section 4.3).
// Exact up to 400 differences without ties, by the normal approximation beyond; ties make it a little wider than it
// says. Nothing where no interval has 95 %: fewer than four each.
std::optional<Interval> rank_sum_interval(const std::vector<double>& a, const std::vector<double>& b);

// Student's t with so many degrees of freedom (at least 1): the value that it exceeds with the probability 1 - q, for q
// in (0.5, 1). By the finite series of the distribution (Abramowitz and Stegun 26.7.3 and 26.7.4).
double student_t_quantile(double q, int degrees);

// An estimate with the standard error of its normal distribution.
struct Estimate {
  double value = 0, error = 0;
};
// The mean of two samples or more, with its standard error.
Estimate mean_estimate(const std::vector<double>& samples);
// numerator / denominator of two estimates whose errors have this covariance, with Fieller's interval (1954). It holds
// all ratios r for which numerator - r denominator lies within `t` of its standard errors of 0. Nothing where the
// denominator is not shown to be positive: the interval would have no end.
std::optional<Interval> ratio_interval(
    const Estimate& numerator, const Estimate& denominator, double t, double covariance = 0);

// Where the least-squares line through the points (x, y) meets `level`. The interval is Fieller's: all x at which the
// line's own 95 % interval holds `level` (Fieller 1954). The noise of y is estimated from the distances to the line, so
// it takes three points at least. Nothing where fewer are given, or where the slope is not shown to be positive: the
// interval would have no end.
struct LineCrossing {
  Interval x;
  double noise = 0;  // standard deviation of one y around the line
};
std::optional<LineCrossing> line_crossing(
    const std::vector<double>& x, const std::vector<double>& y, double level, double confidence = 0.95);

// The Mann-Whitney test of two independent samples: how often samples of one distribution lie as far apart, two-sided.
// Exact up to 50 samples in all, ties included (all splits of the pooled ranks); beyond, the normal approximation with
// corrections for ties and continuity. Throws std::invalid_argument where a sample is empty.
double rank_sum_p(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ttt
