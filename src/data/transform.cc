#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ttt::data {
namespace {

// Four floats: one pixel and one lane unused. Stored whole, so that three channels move in one instruction; the
// fourth lane is overwritten by the next pixel.
using Quad = float __attribute__((vector_size(16), aligned(4)));

Quad load(const float* p) {
  Quad q;
  std::memcpy(&q, p, sizeof(q));
  return q;
}
void store(float* p, Quad q) { std::memcpy(p, &q, sizeof(q)); }

// dst = a * wa + b * wb. The compiler makes vectors of it; products are not fused, so every CPU gives the same bits.
void mix_rows(const float* __restrict a, const float* __restrict b, float wa, float wb, std::int64_t count,
    float* __restrict dst) {
  for (std::int64_t i = 0; i < count; ++i) dst[i] = a[i] * wa + b[i] * wb;
}

}  // namespace

Size resized_size(const DataSettings& settings, Size original) {
  const std::int32_t low = std::min(original.height, original.width), high = std::max(original.height, original.width);
  if (settings.resize == "torchvision") {
    const double scale =
        std::min(static_cast<double>(settings.short_side) / low, static_cast<double>(settings.long_side) / high);
    const auto scaled = [&](std::int32_t side) {
      return std::max(1, static_cast<std::int32_t>(std::floor(side * scale)));
    };
    return {scaled(original.height), scaled(original.width)};
  }
  auto size = static_cast<double>(settings.short_side);
  if (static_cast<double>(high) / low * size > static_cast<double>(settings.long_side))
    size = std::nearbyint(static_cast<double>(settings.long_side) * low / high);  // Python's round: half to even
  size = std::max(size, 1.0);
  const auto exact = static_cast<std::int32_t>(size);
  if (low == exact) return original;
  const auto other = std::max(1, static_cast<std::int32_t>(size * high / low));
  return original.width < original.height ? Size{other, exact} : Size{exact, other};
}

PixelValues pixel_values(const DataSettings& settings) {
  PixelValues values;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const float value = static_cast<float>(byte) / static_cast<float>(settings.pixel_divisor);
      values[c][byte] = (value - static_cast<float>(settings.mean[c])) / static_cast<float>(settings.std[c]);
    }
  return values;
}

ImageTransform::ImageTransform(const DataSettings& settings)
    : antialias_(settings.antialias), value_(pixel_values(settings)) {
  for (int c = 0; c < 3; ++c) source_channel_[c] = settings.channels == "bgr" ? 2 - c : c;
}

void ImageTransform::run(const RgbImage& image, const Placement& to) {
  if (to.out == Size{image.height, image.width}) return copy(image, to);
  if (antialias_ && (to.out.height < image.height || to.out.width < image.width)) return many_tap(image, to);
  two_tap(image, to);
}

void ImageTransform::copy(const RgbImage& image, const Placement& to) {
  for (std::int32_t y = 0; y < image.height; ++y) {
    const std::uint8_t* in = image.pixels.data() + static_cast<std::size_t>(y) * image.width * 3;
    float* out = to.pixels + y * to.row_stride;
    for (std::int32_t x = 0; x < image.width; ++x) {
      const std::uint8_t* pixel = in + 3 * (to.flip ? image.width - 1 - x : x);
      for (int c = 0; c < 3; ++c) out[3 * x + c] = value_[c][pixel[source_channel_[c]]];
    }
  }
}

void ImageTransform::expand_row(const std::uint8_t* row, std::int32_t width) {
  float* out = expanded_.data();
  const int c0 = source_channel_[0], c2 = source_channel_[2];
  for (std::int32_t x = 0; x < width; ++x, row += 3, out += 4) {
    out[0] = value_[0][row[c0]];
    out[1] = value_[1][row[1]];
    out[2] = value_[2][row[c2]];
  }
}

std::vector<TwoTaps> ImageTransform::pairs(std::int32_t in, std::int32_t out, bool flip) {
  std::vector<TwoTaps> result(static_cast<std::size_t>(out));
  for (std::int32_t i = 0; i < out; ++i) result[flip ? out - 1 - i : i] = two_taps(in, out, i);
  return result;
}

// Source row y at the output's width.
void ImageTransform::widen_row(const RgbImage& image, std::int32_t y, const std::vector<TwoTaps>& columns, float* out) {
  expand_row(image.pixels.data() + static_cast<std::size_t>(y) * image.width * 3, image.width);
  const float* in = expanded_.data();
  for (const TwoTaps& p : columns) {
    store(out, load(in + 4 * p.at[0]) * p.weight[0] + load(in + 4 * p.at[1]) * p.weight[1]);
    out += 3;
  }
}

// Widening comes first, on source rows, of which there are fewer than output rows; two of them are kept.
void ImageTransform::two_tap(const RgbImage& image, const Placement& to) {
  const std::vector<TwoTaps> columns = pairs(image.width, to.out.width, to.flip),
                             lines = pairs(image.height, to.out.height, false);
  expanded_.resize(static_cast<std::size_t>(image.width) * 4);
  for (std::vector<float>& row : rows_) row.resize(static_cast<std::size_t>(to.out.width) * 3 + 1);
  std::int32_t held[2] = {-1, -1};  // row y lies in rows_[y % 2]
  for (std::int32_t y = 0; y < to.out.height; ++y) {
    for (const std::int32_t source : lines[y].at) {
      if (held[source % 2] == source) continue;
      widen_row(image, source, columns, rows_[source % 2].data());
      held[source % 2] = source;
    }
    const float* a = rows_[lines[y].at[0] % 2].data();
    const float* b = rows_[lines[y].at[1] % 2].data();
    mix_rows(a, b, lines[y].weight[0], lines[y].weight[1], static_cast<std::int64_t>(to.out.width) * 3,
        to.pixels + y * to.row_stride);
  }
}

ImageTransform::Axis ImageTransform::triangle(std::int32_t in, std::int32_t out, bool flip) {
  Axis axis;
  axis.taps.resize(static_cast<std::size_t>(out));
  for (std::int32_t i = 0; i < out; ++i) {
    const TriangleTaps t = triangle_taps(in, out, i);
    axis.taps[flip ? out - 1 - i : i] = {t.first, t.end - t.first, static_cast<std::int32_t>(axis.weights.size())};
    for (std::int32_t k = t.first; k < t.end; ++k) axis.weights.push_back(triangle_weight(t, k));
  }
  return axis;
}

void ImageTransform::many_tap(const RgbImage& image, const Placement& to) {
  const Axis columns = triangle(image.width, to.out.width, to.flip),
             lines = triangle(image.height, to.out.height, false);
  expanded_.resize(static_cast<std::size_t>(image.width) * 4);
  const std::int64_t stride = static_cast<std::int64_t>(to.out.width) * 3;
  wide_.resize(static_cast<std::size_t>(image.height * stride + 1));
  for (std::int32_t y = 0; y < image.height; ++y) {
    expand_row(image.pixels.data() + static_cast<std::size_t>(y) * image.width * 3, image.width);
    float* out = wide_.data() + y * stride;
    for (const Taps& t : columns.taps) {
      Quad sum = {0, 0, 0, 0};
      for (std::int32_t k = 0; k < t.count; ++k)
        sum += load(expanded_.data() + 4 * (t.first + k)) * columns.weights[t.first_weight + k];
      store(out, sum);
      out += 3;
    }
  }
  for (std::int32_t y = 0; y < to.out.height; ++y) {
    float* out = to.pixels + y * to.row_stride;
    const Taps& t = lines.taps[y];
    for (std::int32_t k = 0; k < t.count; ++k) {
      const float* row = wide_.data() + (t.first + k) * stride;
      const float weight = lines.weights[t.first_weight + k];
      if (k == 0) {
        for (std::int64_t i = 0; i < stride; ++i) out[i] = row[i] * weight;
      } else {
        for (std::int64_t i = 0; i < stride; ++i) out[i] += row[i] * weight;
      }
    }
  }
}

}  // namespace ttt::data
