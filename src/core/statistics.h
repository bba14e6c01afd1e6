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

// The Mann-Whitney test of two independent samples: how often samples of one distribution lie as far apart, two-sided.
// Exact up to 50 samples in all, ties included (all splits of the pooled ranks); beyond, the normal approximation with
// corrections for ties and continuity. Throws std::invalid_argument where a sample is empty.
double rank_sum_p(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ttt
