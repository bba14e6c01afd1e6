// Masks against values that pycocotools computed (golden file), and against brute force on small random ones.
#include "coco/rle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "coco/dataset.h"
#include "core/error.h"
#include "tests/eval/shared_data.h"

namespace ttt::coco {
namespace {

using Bits = std::vector<std::uint8_t>;  // row-major

Rle runs_of_bits(const Bits& bits, std::uint32_t height, std::uint32_t width) {
  Rle rle{height, width, {0}};
  bool value = false;
  for (std::uint32_t x = 0; x < width; ++x) {
    for (std::uint32_t y = 0; y < height; ++y) {
      if ((bits[y * width + x] != 0) != value) rle.counts.push_back(0), value = !value;
      ++rle.counts.back();
    }
  }
  return rle;
}

Bits random_bits(std::mt19937& rng, std::int64_t n, int kind) {
  Bits bits(n);
  std::uint8_t v = rng() % 2;
  for (auto& b : bits) {
    if (kind == 0 || rng() % 7 == 0) v = rng() % 2;
    b = kind == 2 ? 1 : kind == 3 ? 0 : v * static_cast<std::uint8_t>(1 + rng() % 255);
  }
  return bits;
}

class GoldenRle : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(GoldenRle, MasksOfRealAnnotationsEqualPycocotools) {
  const auto [set, file] = GetParam();
  TTT_NEED_DATA(file);
  TTT_NEED_DATA("eval_golden/rle_golden.json");
  const auto golden = nlohmann::json::parse(std::ifstream(test::shared_data() / "eval_golden/rle_golden.json"));
  const Dataset dataset = read_instances(test::shared_data() / file);
  std::map<std::int64_t, const Annotation*> annotations;
  std::map<std::int64_t, const Image*> images;
  for (const Annotation& a : dataset.annotations) annotations[a.id] = &a;
  for (const Image& i : dataset.images) images[i.id] = &i;
  ASSERT_EQ(golden.at(set).size(), dataset.annotations.size());
  for (const auto& row : golden.at(set)) {
    const Annotation& a = *annotations.at(row[0].get<std::int64_t>());
    const Rle rle = mask_of(a, *images.at(a.image_id));
    ASSERT_EQ(rle.height, row[1].get<std::uint32_t>()) << a.id;
    ASSERT_EQ(rle.width, row[2].get<std::uint32_t>()) << a.id;
    ASSERT_EQ(to_string(rle), row[3].get<std::string>()) << a.id;
    ASSERT_EQ(area(rle), row[4].get<std::uint64_t>()) << a.id;
    ASSERT_EQ(bounding_box(rle), (row[5].get<std::array<double, 4>>())) << a.id;
    ASSERT_EQ(from_string(row[3].get<std::string>(), rle.height, rle.width).counts, rle.counts) << a.id;
    Bits bits(std::size_t{rle.height} * rle.width);
    decode(rle, bits.data());
    ASSERT_EQ(encode_box(bits.data(), 0, 0, rle.width, rle.height, rle.height, rle.width).counts,
        runs_of_bits(bits, rle.height, rle.width).counts)
        << a.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, GoldenRle,
    testing::Values(std::pair{"coco128", "gt_only/coco128_instances.json"},
        std::pair{"val2014_100", "val2014_100/instances_val2014_100.json"}));

TEST(EncodeBox, EqualsRunsOfThePastedMask) {
  std::mt19937 rng(7);
  for (int i = 0; i < 4000; ++i) {
    const std::int64_t height = 1 + rng() % 150, width = 1 + rng() % 40;
    std::int64_t w = rng() % 45, h = rng() % 160, x0 = static_cast<int>(rng() % 50) - 8,
                 y0 = static_cast<int>(rng() % 160) - 8;
    if (i % 3 == 0) y0 = 0, h = height;  // runs continue from column to column
    if (i % 5 == 0) x0 = 0, w = width;
    const Bits bits = random_bits(rng, w * h, i % 8);
    Bits image(height * width);
    for (std::int64_t y = 0; y < h; ++y) {
      for (std::int64_t x = 0; x < w; ++x) {
        if (y + y0 >= 0 && y + y0 < height && x + x0 >= 0 && x + x0 < width) {
          image[(y + y0) * width + x + x0] = bits[y * w + x];
        }
      }
    }
    const Rle expected = runs_of_bits(image, height, width);
    const Rle rle = encode_box(bits.data(), x0, y0, w, h, height, width);
    ASSERT_EQ(rle.counts, expected.counts) << "case " << i;
    Bits back(w * h, 9), crop(w * h);
    decode_box(expected, x0, y0, w, h, back.data());
    for (std::int64_t y = 0; y < h; ++y) {
      for (std::int64_t x = 0; x < w; ++x) {
        const bool inside = y + y0 >= 0 && y + y0 < height && x + x0 >= 0 && x + x0 < width;
        crop[y * w + x] = inside && image[(y + y0) * width + x + x0] != 0;
      }
    }
    ASSERT_EQ(back, crop) << "case " << i;
  }
}

TEST(Rle, MergeEqualsPixelwise) {
  std::mt19937 rng(11);
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t height = 1 + rng() % 20, width = 1 + rng() % 20;
    std::vector<Rle> masks;
    Bits any(height * width), all(height * width, 1);
    for (unsigned n = 1 + rng() % 4; n > 0; --n) {
      const Bits bits = random_bits(rng, height * width, rng() % 4);
      for (std::size_t p = 0; p < bits.size(); ++p) any[p] |= bits[p] != 0, all[p] &= bits[p] != 0;
      masks.push_back(runs_of_bits(bits, height, width));
    }
    ASSERT_EQ(merge(masks, false).counts, runs_of_bits(any, height, width).counts);
    ASSERT_EQ(merge(masks, true).counts, runs_of_bits(all, height, width).counts);
  }
  EXPECT_TRUE(merge({}, false).counts.empty());
  EXPECT_THROW(merge(std::vector{Rle{2, 2, {4}}, Rle{2, 3, {6}}}, false), DataError);
}

TEST(Rle, StringRoundTripOfExtremeRuns) {
  const std::vector<std::vector<std::uint32_t>> cases = {
      {0, 4294967295u}, {4294967295u}, {0, 1, 4294967293u, 1}, {1, 2147483647, 1, 2147483646}, {0, 0, 0, 4294967295u}};
  for (const auto& counts : cases) {
    const Rle rle{65535, 65537, counts};  // 65535 * 65537 = 2^32 - 1
    EXPECT_EQ(from_string(to_string(rle), rle.height, rle.width).counts, counts);
  }
}

TEST(Rle, BrokenStringsAreNamed) {
  EXPECT_THROW(from_string("4", 2, 3), DataError);    // 4 of 6 pixels
  EXPECT_THROW(from_string("8", 2, 3), DataError);    // 8 of 6
  EXPECT_THROW(from_string("6\"", 2, 3), DataError);  // not of the alphabet
  EXPECT_THROW(from_string("6p", 2, 3), DataError);   // the one after 'o'
  EXPECT_THROW(from_string("V", 2, 3), DataError);    // goes on, but ends
  EXPECT_THROW(from_string("O7", 2, 3), DataError);   // -1
  EXPECT_THROW(from_string("oooooooooooo0", 2, 3), DataError);
  EXPECT_THROW(from_string("0", 65536, 65536), DataError);
  EXPECT_EQ(from_string("6", 2, 3).counts, (std::vector<std::uint32_t>{6}));
  EXPECT_EQ(from_string("", 2, 3).counts, (std::vector<std::uint32_t>{6}));  // no runs: empty
}

TEST(Rle, MasksWithoutObjectHaveNoBox) {
  EXPECT_EQ(bounding_box(Rle{3, 4, {12}}), (std::array<double, 4>{}));
  EXPECT_EQ(bounding_box(Rle{3, 4, {12, 0}}), (std::array<double, 4>{}));
  EXPECT_EQ(bounding_box(Rle{3, 4, {5, 0, 0, 2, 5}}), (std::array<double, 4>{1, 0, 2, 3}));  // wraps: full height
}

TEST(Rasterize, ClosedForms) {
  // The centre rule: 9 x 9 pixels of the square, and the same where it lies partly outside.
  const Polygon square = {0, 0, 9, 0, 9, 9, 0, 9};
  EXPECT_EQ(area(rasterize(std::span<const double>(square), 20, 20)), 81u);
  EXPECT_EQ(bounding_box(rasterize(std::span<const double>(square), 20, 20)), (std::array<double, 4>{0, 0, 9, 9}));
  const Polygon larger = {-5, -5, 50, -5, 50, 50, -5, 50};
  EXPECT_EQ(area(rasterize(std::span<const double>(larger), 20, 20)), 400u);
  EXPECT_EQ(rasterize(std::span<const double>(), 3, 4).counts, (std::vector<std::uint32_t>{12}));
  EXPECT_EQ(rasterize(std::vector<Polygon>{{1, 1, 5, 5}}, 9, 9).counts, (std::vector<std::uint32_t>{81}));
  const Polygon far = {0, 0, 1e9, 0, 5, 5}, nan = {0, 0, NAN, 0, 5, 5};
  EXPECT_THROW(rasterize(std::span<const double>(far), 9, 9), DataError);
  EXPECT_THROW(rasterize(std::span<const double>(nan), 9, 9), DataError);
}

}  // namespace
}  // namespace ttt::coco
