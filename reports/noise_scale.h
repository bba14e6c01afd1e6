// The gradient noise scale: the batch up to which twice the images nearly halve the steps.
//
// McCandlish et al. 2018, "An Empirical Model of Large-Batch Training".
#pragma once

#include <optional>

#include "core/statistics.h"
#include "reports/document.h"
#include "result/telemetry_record.h"

namespace ttt::reports {

// tr(S) / |G|^2 [images], the paper's simple noise scale: S is the covariance of one image's gradient, G its mean. Both
// are estimated without bias from squared norms of a part's and of the batch's gradients (its appendix A.1). They are
// averaged over samples before they are divided.
struct NoiseScale {
  double images = 0;
  // Fieller's 95 %, over kNoiseBlocks blocks of samples; nothing for fewer than two samples to a block, or where |G|^2
  // is not shown to be above 0.
  std::optional<Interval> interval;
  std::optional<double> first, last;  // of the first and the last third; nothing where |G|^2 is not above 0 there
};
inline constexpr std::size_t kNoiseBlocks = 24;

// Nothing where the samples have no norms of parts, or where the estimate of |G|^2 is not above 0.
std::optional<NoiseScale> noise_scale(const result::TelemetrySeries& series);

Table noise_table(const result::NoiseSeries& series, const NoiseScale& scale);

}  // namespace ttt::reports
