// Masks on COCO's usual image size: drawing polygons, encoding pasted masks, strings, overlap.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "coco/rle.h"
#include "eval/coco/iou.h"

namespace {

using namespace ttt::coco;

constexpr std::uint32_t kHeight = 480, kWidth = 640;

// A wavy outline of `vertices` vertices in a box of `size` pixels, two decimals as in COCO's files.
Polygon outline(int vertices, double size, double x, double y) {
  Polygon polygon;
  for (int i = 0; i < vertices; ++i) {
    const double angle = 2 * std::numbers::pi * i / vertices, radius = size / 2 * (.8 + .2 * std::sin(5 * angle));
    polygon.push_back(std::round(100 * (x + radius * std::cos(angle))) / 100);
    polygon.push_back(std::round(100 * (y + radius * std::sin(angle))) / 100);
  }
  return polygon;
}

Rle blob(double size, double x = 320, double y = 240) {
  return rasterize(std::span<const double>(outline(60, size, x, y)), kHeight, kWidth);
}

void rasterize_polygon(benchmark::State& state) {
  const Polygon polygon = outline(static_cast<int>(state.range(0)), static_cast<double>(state.range(1)), 320, 240);
  for (auto _ : state) benchmark::DoNotOptimize(rasterize(std::span<const double>(polygon), kHeight, kWidth));
}
BENCHMARK(rasterize_polygon)->Args({22, 40})->Args({22, 150})->Args({60, 400});

void encode_pasted(benchmark::State& state) {
  const std::int64_t size = state.range(0), x0 = 320 - size / 2, y0 = 240 - size / 2;
  std::vector<std::uint8_t> bits(size * size);
  decode_box(blob(static_cast<double>(size)), x0, y0, size, size, bits.data());
  for (auto _ : state) benchmark::DoNotOptimize(encode_box(bits.data(), x0, y0, size, size, kHeight, kWidth));
}
BENCHMARK(encode_pasted)->Arg(40)->Arg(150)->Arg(400);

void encode_image(benchmark::State& state) {
  std::vector<std::uint8_t> bits(kHeight * kWidth);
  decode(blob(300), bits.data());
  for (auto _ : state) benchmark::DoNotOptimize(encode_box(bits.data(), 0, 0, kWidth, kHeight, kHeight, kWidth));
}
BENCHMARK(encode_image);

void decode_image(benchmark::State& state) {
  const Rle mask = blob(300);
  std::vector<std::uint8_t> bits(kHeight * kWidth);
  for (auto _ : state) {
    decode(mask, bits.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(decode_image);

void string_out(benchmark::State& state) {
  const Rle mask = blob(150);
  for (auto _ : state) benchmark::DoNotOptimize(to_string(mask));
}
BENCHMARK(string_out);

void string_in(benchmark::State& state) {
  const std::string text = to_string(blob(150));
  for (auto _ : state) benchmark::DoNotOptimize(from_string(text, kHeight, kWidth));
}
BENCHMARK(string_in);

void overlap(benchmark::State& state) {
  ttt::eval::coco::Object object;
  object.mask = blob(150);
  object.summary = ttt::eval::coco::summarise(object.mask);
  const Rle mask = blob(150, 330, 245);
  const auto summary = ttt::eval::coco::summarise(mask);
  for (auto _ : state) benchmark::DoNotOptimize(ttt::eval::coco::mask_iou(mask, summary, object));
}
BENCHMARK(overlap);

}  // namespace

BENCHMARK_MAIN();
