#include "reports/noise_scale.h"

#include <algorithm>
#include <span>
#include <vector>

#include "reports/numbers.h"

namespace ttt::reports {
namespace {

// Of one sample, or the means of several.
struct Moments {
  double noise = 0, signal = 0;  // tr(S) and |G|^2
};

// E |g of n images|^2 = |G|^2 + tr(S) / n, of a part and of the batch: two equations.
Moments moments(double part_images, double batch_images, double part_square, double batch_square) {
  return {.noise = (part_square - batch_square) / (1 / part_images - 1 / batch_images),
      .signal = (batch_images * batch_square - part_images * part_square) / (batch_images - part_images)};
}

std::vector<Moments> moments_of(const result::TelemetrySeries& t) {
  std::vector<Moments> all;
  for (std::size_t i = 0; i < t.size(); ++i) {
    double square = 0;
    for (const result::TelemetryGroup& g : t.groups) square += g.gradient_norm[i] * g.gradient_norm[i];
    const double part = t.noise->part_gradient_norm[i];
    all.push_back(moments(
        static_cast<double>(t.noise->part_images), static_cast<double>(t.noise->batch_images), part * part, square));
  }
  return all;
}

Moments mean(std::span<const Moments> of) {
  Moments total;
  for (const Moments& m : of) total.noise += m.noise, total.signal += m.signal;
  return {total.noise / static_cast<double>(of.size()), total.signal / static_cast<double>(of.size())};
}

std::optional<double> ratio(std::span<const Moments> of) {
  if (of.empty()) return std::nullopt;
  const Moments m = mean(of);
  return m.signal > 0 ? std::optional(m.noise / m.signal) : std::nullopt;
}

// A block takes every kNoiseBlocks-th sample: what changes in the course of the run is the same in all of them.
std::optional<Interval> interval(std::span<const Moments> all) {
  if (all.size() < 2 * kNoiseBlocks) return std::nullopt;
  std::vector<double> noise, signal;
  for (std::size_t b = 0; b < kNoiseBlocks; ++b) {
    std::vector<Moments> block;
    for (std::size_t i = b; i < all.size(); i += kNoiseBlocks) block.push_back(all[i]);
    const Moments m = mean(block);
    noise.push_back(m.noise), signal.push_back(m.signal);
  }
  const Estimate of_noise = mean_estimate(noise), of_signal = mean_estimate(signal);
  double covariance = 0;
  for (std::size_t b = 0; b < kNoiseBlocks; ++b)
    covariance += (noise[b] - of_noise.value) * (signal[b] - of_signal.value);
  constexpr double kPairs = static_cast<double>(kNoiseBlocks * (kNoiseBlocks - 1));  // of the two means
  return ratio_interval(
      of_noise, of_signal, student_t_quantile(0.975, static_cast<int>(kNoiseBlocks) - 1), covariance / kPairs);
}

}  // namespace

std::optional<NoiseScale> noise_scale(const result::TelemetrySeries& series) {
  if (!series.noise) return std::nullopt;
  const std::vector<Moments> all = moments_of(series);
  const auto whole_run = ratio(all);
  if (!whole_run) return std::nullopt;
  const std::size_t third = std::max<std::size_t>(1, all.size() / 3);
  return NoiseScale{.images = *whole_run,
      .interval = interval(all),
      .first = ratio(std::span(all).first(third)),
      .last = ratio(std::span(all).last(third))};
}

Table noise_table(const result::NoiseSeries& series, const NoiseScale& scale) {
  const auto images = [](const std::optional<double>& x) { return x ? number("%.3g", *x) : Cell("-"); };
  Table out{.header = {"noise scale [images]", "95 % interval", "first third", "last third", "part", "batch"},
      .right = std::vector<bool>(6, true)};
  out.rows.push_back({number("%.3g", scale.images),
      scale.interval ? Cell(fixed("%.3g to %.3g", scale.interval->low, scale.interval->high), scale.interval->low,
                           scale.interval->high, "")
                     : Cell("-"),
      images(scale.first), images(scale.last), whole(series.part_images), whole(series.batch_images)});
  return out;
}

}  // namespace ttt::reports
