#include "eval/draw/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "eval/draw/font.h"

namespace ttt::eval {
namespace {

struct Rectangle {
  std::int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // the last column and row do not belong to it
};

std::uint8_t* pixel(data::RgbImage& image, std::int64_t x, std::int64_t y) {
  return image.pixels.data() + (y * image.width + x) * 3;
}

data::RgbImage black(std::int32_t height, std::int32_t width) {
  return {.height = height,
      .width = width,
      .pixels = std::vector<std::uint8_t>(static_cast<std::size_t>(height) * width * 3)};
}

void fill(data::RgbImage& image, const Rectangle& r, const Colour& colour) {
  for (std::int64_t y = std::max<std::int64_t>(0, r.y0); y < std::min<std::int64_t>(image.height, r.y1); ++y)
    for (std::int64_t x = std::max<std::int64_t>(0, r.x0); x < std::min<std::int64_t>(image.width, r.x1); ++x)
      std::copy(colour.begin(), colour.end(), pixel(image, x, y));
}

void outline(data::RgbImage& image, const Rectangle& r, std::int64_t thick, const Colour& colour) {
  fill(image, {r.x0, r.y0, r.x1, std::min(r.y1, r.y0 + thick)}, colour);
  fill(image, {r.x0, std::max(r.y0, r.y1 - thick), r.x1, r.y1}, colour);
  fill(image, {r.x0, r.y0, std::min(r.x1, r.x0 + thick), r.y1}, colour);
  fill(image, {std::max(r.x0, r.x1 - thick), r.y0, r.x1, r.y1}, colour);
}

// Run lengths go down the columns.
void tint(data::RgbImage& image, const ttt::coco::Rle& mask, const Colour& colour) {
  if (static_cast<std::int32_t>(mask.height) != image.height || static_cast<std::int32_t>(mask.width) != image.width)
    throw DataError("A mask of " + std::to_string(mask.height) + " x " + std::to_string(mask.width) +
                    " pixels cannot be drawn on an image of " + std::to_string(image.height) + " x " +
                    std::to_string(image.width) + ". Take the image that the mask was made of.");
  std::int64_t at = 0;
  for (std::size_t run = 0; run < mask.counts.size(); at += mask.counts[run++]) {
    if (run % 2 == 0) continue;
    for (std::int64_t i = at; i < at + mask.counts[run]; ++i) {
      std::uint8_t* p = pixel(image, i / mask.height, i % mask.height);
      for (int c = 0; c < 3; ++c) p[c] = static_cast<std::uint8_t>((p[c] + colour[c]) / 2);
    }
  }
}

data::RgbImage magnified(const data::RgbImage& image, int factor) {
  data::RgbImage out = black(image.height * factor, image.width * factor);
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      const std::uint8_t* from = image.pixels.data() + (y / factor * image.width + x / factor) * 3;
      std::copy(from, from + 3, pixel(out, x, y));
    }
  return out;
}

// The pixels that a box touches. It may reach far beyond the image: clamped, so that it stays a number of pixels.
Rectangle pixels_of(const std::array<double, 4>& box, int factor) {
  const auto clamp = [](double v) { return static_cast<std::int64_t>(std::clamp(v, -1e6, 1e6)); };
  return {clamp(std::floor(box[0] * factor)), clamp(std::floor(box[1] * factor)),
      clamp(std::ceil((box[0] + box[2]) * factor)), clamp(std::ceil((box[1] + box[3]) * factor))};
}

bool is_bright(const Colour& c) { return 299 * c[0] + 587 * c[1] + 114 * c[2] > 128 * 1000; }  // luma (ITU-R BT.601)

// A label that is to be drawn.
struct Label {
  TextShape text;
  Rectangle box;  // of its object
  std::int64_t width, height;
  Colour ground;
  Rectangle place = {};
};

bool overlap(const Rectangle& a, const Rectangle& b) {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

// Where a label hides none of `taken`: above its box or inside it, below, at the right, else the free place that is
// nearest. Where there is none, above its box.
Rectangle free_place(const Label& l, const data::RgbImage& image, std::span<const Rectangle> taken) {
  const std::int64_t right = std::max<std::int64_t>(0, image.width - l.width),
                     bottom = std::max<std::int64_t>(0, image.height - l.height);
  const auto at = [&](std::int64_t x, std::int64_t y) {
    x = std::clamp<std::int64_t>(x, 0, right), y = std::clamp<std::int64_t>(y, 0, bottom);
    return Rectangle{x, y, x + l.width, y + l.height};
  };
  const auto is_free = [&](const Rectangle& place) {
    return std::none_of(taken.begin(), taken.end(), [&](const Rectangle& t) { return overlap(place, t); });
  };
  const std::int64_t above = l.box.y0 - l.height;
  const Rectangle wanted = at(l.box.x0, above >= 0 ? above : l.box.y0);
  for (const std::int64_t x : {l.box.x0, l.box.x1 - l.width})
    for (const std::int64_t y : {wanted.y0, l.box.y0, l.box.y1, l.box.y1 - l.height})
      if (const Rectangle place = at(x, y); is_free(place)) return place;
  Rectangle best = wanted;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t y = 0; y <= bottom; y += std::max<std::int64_t>(1, l.height / 4))
    for (std::int64_t x = 0; x <= right; x += std::max<std::int64_t>(1, l.height / 4))
      if (const std::int64_t distance = std::abs(x - wanted.x0) + std::abs(y - wanted.y0);
          distance < least && is_free(at(x, y)))
        least = distance, best = at(x, y);
  return best;
}

void write(data::RgbImage& image, const Label& l, std::int64_t scale) {
  fill(image, l.place, l.ground);
  const Colour ink = is_bright(l.ground) ? Colour{0, 0, 0} : Colour{255, 255, 255};
  for (const GlyphPart& p : l.text.parts) {
    const std::int64_t left = l.place.x0 + (p.x + 1) * scale, top = l.place.y0 + (p.y + 1) * scale;
    fill(image, {left, top, left + p.width * scale, top + p.height * scale}, ink);
  }
}

// The last object is the best and chooses first.
void write_labels(data::RgbImage& image, std::span<const Marked> objects, int magnify, std::int64_t scale) {
  std::vector<Rectangle> taken;
  for (auto m = objects.rbegin(); m != objects.rend(); ++m) {
    if (m->label.empty()) continue;
    const TextShape text = text_shape(m->label);
    Label label{.text = text,
        .box = pixels_of(m->box, magnify),
        .width = (text.width + 2) * scale,
        .height = (text.height + 1) * scale,
        .ground = m->colour};
    label.place = free_place(label, image, taken);
    taken.push_back(label.place);
    write(image, label, scale);
  }
}

// Thickness of a line and of a letter's strokes.
std::int64_t stroke(const data::RgbImage& image) {
  return std::max(1, (std::min(image.height, image.width) + 128) / 256);
}

}  // namespace

Colour colour_of(std::size_t number) {
  const double hue = std::fmod(0.03 + static_cast<double>(number) * 0.6180339887498949, 1.0) * 6;
  Colour c;
  for (int i = 0; i < 3; ++i) {  // red, green and blue are a third of the circle apart
    const double distance = std::abs(std::fmod(hue - 2 * i + 9, 6) - 3);  // 0 to 3 from the channel's own hue
    c[i] = static_cast<std::uint8_t>(std::lround(40 + 215 * std::clamp(2 - distance, 0.0, 1.0)));
  }
  return c;
}

data::RgbImage draw(const data::RgbImage& image, std::span<const Marked> objects, int magnify) {
  data::RgbImage tinted = image;
  for (const Marked& m : objects)
    if (m.mask) tint(tinted, *m.mask, m.colour);
  data::RgbImage out = magnified(tinted, magnify);
  const std::int64_t scale = stroke(out);
  for (const Marked& m : objects) outline(out, pixels_of(m.box, magnify), scale, m.colour);
  write_labels(out, objects, magnify, scale);
  return out;
}

int magnification(const data::RgbImage& image) {
  return std::max(1, 400 / std::max(1, std::min(image.height, image.width)));
}

data::RgbImage beside(const data::RgbImage& left, const data::RgbImage& right) {
  constexpr std::int32_t kGap = 4;
  data::RgbImage out = black(std::max(left.height, right.height), left.width + kGap + right.width);
  const auto copy = [&](const data::RgbImage& from, std::int32_t x) {
    for (std::int64_t y = 0; y < from.height; ++y) {
      const std::uint8_t* row = from.pixels.data() + y * from.width * 3;
      std::copy(row, row + from.width * 3, pixel(out, x, y));
    }
  };
  copy(left, 0), copy(right, left.width + kGap);
  return out;
}

}  // namespace ttt::eval
