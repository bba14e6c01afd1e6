// From decoded bytes to a normalised float image: resize, flip, normalise and place into the batch, in one pass.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/resample.h"
#include "data/jpeg.h"
#include "data/settings.h"

namespace ttt::data {

struct Size {
  std::int32_t height = 0, width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// Size after the resize.
//   mlperf: maskrcnn-benchmark's transforms.py (short side exact, the other truncated; short = round(L * min / max),
//   half to even, where the long side would exceed L).
//   torchvision: scale = min(S / min, L / max) in float64, both sides floor(side * scale), as its eager (not scripted) code has it.
Size resized_size(const DataSettings& settings, Size original);

// What a byte becomes: [channel of the output][byte], (byte / pixel_divisor - mean) / std in float32.
using PixelValues = std::array<std::array<float, 256>, 3>;
PixelValues pixel_values(const DataSettings& settings);

// An image in a batch: where its pixels go and how.
struct Placement {
  Size out;               // after the resize
  bool flip = false;
  float* pixels = nullptr;        // [out.height, row_stride] of which 3 * out.width floats are written in each row
  std::int64_t row_stride = 0;    // floats
};

// One per thread: holds tables and row buffers. Bilinear (core/resample.h): two taps, or with antialias, where an axis shrinks, a triangle that widens
// with the scale. Equal size: only normalised, exact to the bit. kernels/preprocess has the same results, pixel by pixel.
class ImageTransform {
 public:
  explicit ImageTransform(const DataSettings& settings);
  void run(const RgbImage& image, const Placement& to);

 private:
  // Taps of one output position along an axis: weights[first_weight + k] times source position first + k.
  struct Taps {
    std::int32_t first = 0, count = 0, first_weight = 0;
  };
  struct Axis {
    std::vector<Taps> taps;
    std::vector<float> weights;
  };
  void copy(const RgbImage& image, const Placement& to);
  void two_tap(const RgbImage& image, const Placement& to);
  void many_tap(const RgbImage& image, const Placement& to);
  void expand_row(const std::uint8_t* row, std::int32_t width);
  void widen_row(const RgbImage& image, std::int32_t y, const std::vector<TwoTaps>& columns, float* out);
  static std::vector<TwoTaps> pairs(std::int32_t in, std::int32_t out, bool flip);
  static Axis triangle(std::int32_t in, std::int32_t out, bool flip);

  bool antialias_;
  std::array<int, 3> source_channel_;
  PixelValues value_;
  std::vector<float> expanded_;                  // one source row, 4 floats per pixel, normalised
  std::vector<float> rows_[2];                   // two source rows at the output's width
  std::vector<float> wide_;                      // many_tap: all source rows at the output's width
};

}  // namespace ttt::data
