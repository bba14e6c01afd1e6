// One pixel of a batch from an image's bytes, shared by the kernel and the reference implementation. The order of the
// arithmetic is that of the loader's resize (src/data/transform.cc), so all three have the same bits.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "core/resample.h"
#include "kernels/preprocess/preprocess.h"

namespace ttt::kernels {

struct SourceImage {
  const std::uint8_t* bytes;
  std::int32_t height, width;
};
struct PlacedPixel {
  std::int32_t height, width, y, x;  // of the resized image, and in it
};

// values: [3, 256]; out: [3].
class Preprocessor {
 public:
  TTT_HD Preprocessor(const PreprocessParams& p, const SourceImage& image, const float* values)
      : p_(p), image_(image), values_(values) {}

  TTT_HD void operator()(const PlacedPixel& to, bool flip, float* out) const {
    const std::int32_t column = flip ? to.width - 1 - to.x : to.x;
    if (to.height == image_.height && to.width == image_.width) {
      for (int c = 0; c < 3; ++c) out[c] = value(to.y, column, c);
    } else if (p_.antialias && (to.height < image_.height || to.width < image_.width)) {
      many_taps(triangle_taps(image_.height, to.height, to.y), triangle_taps(image_.width, to.width, column), out);
    } else {
      four_taps(two_taps(image_.height, to.height, to.y), two_taps(image_.width, to.width, column), out);
    }
  }

 private:
  TTT_HD float value(std::int32_t y, std::int32_t x, int c) const {
    const std::int64_t at = (static_cast<std::int64_t>(y) * image_.width + x) * 3 + (p_.bgr ? 2 - c : c);
    return values_[256 * c + image_.bytes[at]];
  }
  TTT_HD void four_taps(const TwoTaps& y, const TwoTaps& x, float* out) const {
    for (int c = 0; c < 3; ++c) {
      const float above = value(y.at[0], x.at[0], c) * x.weight[0] + value(y.at[0], x.at[1], c) * x.weight[1];
      const float below = value(y.at[1], x.at[0], c) * x.weight[0] + value(y.at[1], x.at[1], c) * x.weight[1];
      out[c] = above * y.weight[0] + below * y.weight[1];
    }
  }
  TTT_HD void many_taps(const TriangleTaps& y, const TriangleTaps& x, float* out) const {
    for (std::int32_t line = y.first; line < y.end; ++line) {
      float row[3] = {0, 0, 0};
      for (std::int32_t k = x.first; k < x.end; ++k) {
        const float weight = triangle_weight(x, k);
        for (int c = 0; c < 3; ++c) row[c] += value(line, k, c) * weight;
      }
      const float weight = triangle_weight(y, line);
      for (int c = 0; c < 3; ++c) out[c] = line == y.first ? row[c] * weight : out[c] + row[c] * weight;
    }
  }

  const PreprocessParams& p_;
  const SourceImage& image_;
  const float* values_;
};

}  // namespace ttt::kernels
