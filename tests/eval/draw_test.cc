// Every pixel of small drawings, and that nothing is drawn outside of an image.
#include "eval/draw/draw.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/rng.h"
#include "data/png.h"
#include "eval/draw/font.h"
#include "eval/draw/objects.h"

namespace ttt::eval {
namespace {

data::RgbImage noise(std::int32_t height, std::int32_t width) {
  data::RgbImage image{.height = height,
      .width = width,
      .pixels = std::vector<std::uint8_t>(static_cast<std::size_t>(height) * width * 3)};
  Stream random(static_cast<std::uint64_t>(height));
  for (auto& p : image.pixels) p = static_cast<std::uint8_t>(random.below(200));
  return image;
}

Colour at(const data::RgbImage& image, int x, int y) {
  const std::uint8_t* p = &image.pixels[static_cast<std::size_t>(y * image.width + x) * 3];
  return {p[0], p[1], p[2]};
}

constexpr Colour kRed{255, 0, 0};

TEST(Draw, Outline_IsWhereTheBoxIs) {
  const data::RgbImage image = noise(20, 30);
  const std::vector<Marked> objects = {{.box = {4, 5, 10, 7}, .colour = kRed}};
  const data::RgbImage out = draw(image, objects);
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 30; ++x) {
      const bool inside = x >= 4 && x < 14 && y >= 5 && y < 12, interior = x >= 5 && x < 13 && y >= 6 && y < 11;
      EXPECT_EQ(at(out, x, y), inside && !interior ? kRed : at(image, x, y)) << x << " " << y;
    }
}

TEST(Draw, Fractions_MagnifyWithTheImage) {
  const data::RgbImage image = noise(20, 30);
  const data::RgbImage out = draw(image, std::vector<Marked>{{.box = {4.5, 5.25, 3.75, 7}, .colour = kRed}}, 2);
  ASSERT_EQ(out.width, 60);
  ASSERT_EQ(out.height, 40);
  EXPECT_EQ(at(out, 9, 10), kRed);   // 4.5, 5.25 of two pixels each
  EXPECT_EQ(at(out, 16, 24), kRed);  // the last pixel before 8.25, 12.25 is 16, 24
  EXPECT_EQ(at(out, 17, 24), at(image, 8, 12));
  EXPECT_EQ(at(out, 8, 10), at(image, 4, 5));
  EXPECT_EQ(at(out, 13, 17), at(image, 6, 8));
}

TEST(Draw, Mask_TintsOnlyItsPixels) {
  const data::RgbImage image = noise(6, 5);
  std::vector<std::uint8_t> bits(30);
  for (const int i : {0, 7, 8, 29}) bits[static_cast<std::size_t>(i)] = 1;  // row-major
  const ttt::coco::Rle mask = ttt::coco::encode_box(bits.data(), 0, 0, 5, 6, 6, 5);
  const data::RgbImage out =
      draw(image, std::vector<Marked>{{.box = {-10, -10, 1, 1}, .mask = &mask, .colour = {255, 10, 0}}});
  for (int i = 0; i < 30; ++i) {
    const Colour was = at(image, i % 5, i / 5);
    const Colour tinted = {static_cast<std::uint8_t>((was[0] + 255) / 2), static_cast<std::uint8_t>((was[1] + 10) / 2),
        static_cast<std::uint8_t>(was[2] / 2)};
    EXPECT_EQ(at(out, i % 5, i / 5), bits[static_cast<std::size_t>(i)] ? tinted : was) << i;
  }
  const ttt::coco::Rle other = ttt::coco::encode_box(bits.data(), 0, 0, 5, 6, 6, 7);
  EXPECT_THROW(draw(image, std::vector<Marked>{{.mask = &other}}), DataError);
}

TEST(Draw, NothingLeavesTheImage) {  // the address sanitizer looks at this one
  const data::RgbImage image = noise(9, 7);
  for (const double x : {-1e30, -50.0, -3.5, 0.0, 3.0, 6.9, 50.0, 1e30})
    for (const double y : {-1e30, -4.0, 2.0, 8.9, 1e30})
      for (const double size : {0.0, 0.3, 5.0, 1e30})
        draw(image,
            std::vector<Marked>{{.box = {x, y, size, size}, .label = "a label wider than the image", .colour = kRed}},
            2);
  EXPECT_EQ(draw(image, {}).pixels, image.pixels);
}

TEST(Draw, Label_AboveOrInsideItsBox) {
  const data::RgbImage image = noise(60, 80);
  const TextShape text = text_shape("ring 0.97");
  const auto ground = [&](const data::RgbImage& out, int x, int y) {  // share of a place in the label's colours
    int of_label = 0;
    for (int dy = 0; dy <= text.height; ++dy)
      for (int dx = 0; dx < text.width + 2; ++dx) {
        const Colour c = at(out, x + dx, y + dy);
        of_label += c == kRed || c == Colour{255, 255, 255};
      }
    return of_label / static_cast<double>((text.height + 1) * (text.width + 2));
  };
  EXPECT_EQ(ground(draw(image, std::vector<Marked>{{.box = {5, 30, 40, 20}, .label = "ring 0.97", .colour = kRed}}), 5,
                30 - text.height - 1),
      1);
  EXPECT_EQ(
      ground(draw(image, std::vector<Marked>{{.box = {5, 3, 40, 20}, .label = "ring 0.97", .colour = kRed}}), 5, 3), 1);
  // At the right border it is moved to the left.
  EXPECT_EQ(ground(draw(image, std::vector<Marked>{{.box = {78, 30, 40, 20}, .label = "ring 0.97", .colour = kRed}}),
                80 - text.width - 2, 30 - text.height - 1),
      1);
}

// Small objects in one corner. A label that is whole has all pixels of its ground: the area without the letters.
TEST(Draw, CrowdedLabels_HideNone) {
  std::vector<Marked> objects;
  for (int i = 0; i < 24; ++i)
    objects.push_back({.box = {40.0 + 3 * (i % 7), 40.0 + 2 * (i / 7), 1, 1},
        .label = "square 0.97",
        .colour = {static_cast<std::uint8_t>(200 + i), 150, static_cast<std::uint8_t>(i)}});
  const data::RgbImage out = draw(noise(420, 400), objects);
  const std::int64_t scale = 2;  // of a picture of 400 pixels: a line is (400 + 128) / 256
  const TextShape text = text_shape("square 0.97");
  std::int64_t ground = (text.width + 2) * (text.height + 1);
  for (const GlyphPart& p : text.parts) ground -= p.width * p.height;
  int hidden = 0;
  for (const Marked& m : objects) {
    std::int64_t seen = 0;
    for (int y = 0; y < out.height; ++y)
      for (int x = 0; x < out.width; ++x) seen += at(out, x, y) == m.colour;
    hidden += seen < ground * scale * scale;
  }
  EXPECT_EQ(hidden, 0);
}

TEST(Font, Letters_DifferAndEveryByteDraws) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  const TextShape shape = text_shape(all);
  for (const GlyphPart& p : shape.parts) {
    EXPECT_GE(p.x, 0);
    EXPECT_LE(p.x + p.width, shape.width + 1);
    EXPECT_GE(p.y, 0);
    EXPECT_LE(p.y + p.height, shape.height);
  }
  EXPECT_EQ(text_shape("\xff").parts.size(), text_shape("?").parts.size());
  EXPECT_TRUE(text_shape("").parts.empty());
  EXPECT_NE(text_shape("3").parts.size(), text_shape("8").parts.size());
}

TEST(Objects, HighScoresOrTheBest) {
  std::vector<coco::Detection> found(4);
  const double scores[] = {0.9, 0.2, 0.6, 0.4};
  for (std::size_t i = 0; i < 4; ++i) found[i].score = scores[i], found[i].category_id = static_cast<std::int64_t>(i);
  const auto shown = [&](double threshold, std::size_t at_least) {
    std::vector<std::int64_t> ids;
    for (const auto* d : worth_showing(found, threshold, at_least)) ids.push_back(d->category_id);
    return ids;
  };
  EXPECT_EQ(shown(0.5, 0), (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(shown(0.5, 3), (std::vector<std::int64_t>{3, 2, 0}));
  EXPECT_EQ(shown(0.95, 0), std::vector<std::int64_t>());
  EXPECT_EQ(shown(0.95, 9), (std::vector<std::int64_t>{1, 3, 2, 0}));
  EXPECT_EQ(marked(found[2], "ring").label, "ring 0.60");
  EXPECT_EQ(marked(found[2], "ring").mask, nullptr);
}

TEST(Png, PartialFile_IsRefused) {
  const data::RgbImage image = noise(13, 21);
  const std::string png = data::encode_png(image);
  const auto bytes = [&](std::size_t n) { return std::span(reinterpret_cast<const std::uint8_t*>(png.data()), n); };
  const data::RgbImage back = data::decode_png(bytes(png.size()));
  EXPECT_EQ(back.pixels, image.pixels);
  EXPECT_EQ(back.height, 13);
  for (std::size_t n = 0; n + 16 < png.size(); n += 11) EXPECT_THROW(data::decode_png(bytes(n)), DataError) << n;
}

TEST(Beside, PutsBothOnOnePicture) {
  const data::RgbImage a = noise(4, 3), b = noise(6, 2), both = beside(a, b);
  EXPECT_EQ(both.width, 9);
  EXPECT_EQ(both.height, 6);
  EXPECT_EQ(at(both, 2, 3), at(a, 2, 3));
  EXPECT_EQ(at(both, 7, 5), at(b, 0, 5));
  EXPECT_EQ(at(both, 4, 1), (Colour{0, 0, 0}));
  EXPECT_EQ(at(both, 1, 5), (Colour{0, 0, 0}));
}

}  // namespace
}  // namespace ttt::eval
