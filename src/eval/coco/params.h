// COCO's evaluation parameters (pycocotools' Params for boxes and masks), as doubles to the bit.
#pragma once

#include <array>
#include <cstdint>

namespace ttt::eval::coco {

inline constexpr int kThresholds = 10;  // T
inline constexpr int kRecalls = 101;    // R
inline constexpr int kAreas = 4;        // A: all, small, medium, large
inline constexpr int kLimits = 3;       // M

inline constexpr std::array<const char*, kAreas> kAreaNames = {"all", "small", "medium", "large"};
// Inclusive at both ends: an area of 1024 is small and medium.
inline constexpr std::array<std::array<double, 2>, kAreas> kAreaRanges = {
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};
// Detections per image and category that count.
inline constexpr std::array<int, kLimits> kMaxDetections = {1, 10, 100};

// numpy.linspace(.5, .95, 10): the ninth is 0.8999999999999999, not 0.9.
inline constexpr std::array<double, kThresholds> kIouThresholds = [] {
  std::array<double, kThresholds> t{};
  const double step = (.95 - .5) / 9;
  for (int i = 0; i < kThresholds - 1; ++i) t[i] = i * step + .5;
  t[kThresholds - 1] = .95;
  return t;
}();

// numpy.linspace(0, 1, 101): products i * 0.01, which differ from i / 100 in ten places.
inline constexpr std::array<double, kRecalls> kRecallThresholds = [] {
  std::array<double, kRecalls> r{};
  for (int i = 0; i < kRecalls - 1; ++i) r[i] = i * .01;
  r[kRecalls - 1] = 1;
  return r;
}();

}  // namespace ttt::eval::coco
