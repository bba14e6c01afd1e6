// CUDA preprocessing against its reference implementation: to the bit. tests/data compares that one with the workers'
// resize.
#include "kernels/preprocess/preprocess.h"

#include <gtest/gtest.h>

#include <vector>

#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

struct Image {
  std::int32_t height, width, placed_height, placed_width;
  std::uint8_t flipped;
};

void expect_same(const PreprocessParams& p, const std::vector<Image>& images) {
  Stream s = stream(1300);
  std::vector<std::uint8_t> bytes, flipped;
  std::vector<std::int64_t> offset;
  std::vector<std::int32_t> size, placed;
  for (const Image& i : images) {
    offset.push_back(std::ssize(bytes));
    size.insert(size.end(), {i.height, i.width}), placed.insert(placed.end(), {i.placed_height, i.placed_width});
    flipped.push_back(i.flipped);
    for (std::int32_t b = 0; b < 3 * i.height * i.width; ++b) bytes.push_back(static_cast<std::uint8_t>(s.below(256)));
  }
  const std::vector<float> values = uniform(s, 768, -2, 2);
  const std::int64_t n = p.images * p.height * p.width * 3;
  std::vector<float> want(static_cast<std::size_t>(n), kNan);
  host::preprocess(p, {bytes.data(), offset.data(), size.data(), placed.data(), flipped.data()}, values.data(),
                   want.data());
  under_all_schedules([&] {
    auto b = input(bytes, "bytes"), f = input(flipped, "flipped");
    auto o = input(offset, "offset");
    auto z = input(size, "size"), to = input(placed, "placed_size");
    auto v = input(values, "values"), out = output<float>(n, "images");
    cuda::preprocess(p, {b.get(), o.get(), z.get(), to.get(), f.get()}, v.get(), out.get(), nullptr);
    expect_same_bits(want, out, "images");
  });
}

TEST(Preprocess, ScaledFlippedAndEmpty_SameBits) {
  const std::vector<Image> images = {{9, 7, 19, 23, 0}, {9, 7, 9, 7, 1},    {31, 40, 11, 13, 1},
                                     {0, 0, 21, 24, 0}, {8, 20, 16, 10, 0}, {1, 1, 5, 4, 1}};
  for (const bool antialias : {false, true})
    for (const bool bgr : {false, true})
      expect_same({.images = 6, .height = 21, .width = 24, .antialias = antialias, .bgr = bgr}, images);
}

TEST(Preprocess, OnePixelAndNone_SameBits) {
  expect_same({.images = 1, .height = 1, .width = 1}, {{3, 3, 1, 1, 0}});
  expect_same({.images = 0, .height = 4, .width = 4}, {});
}

}  // namespace
}  // namespace ttt::kernels
