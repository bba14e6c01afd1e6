#include "train/group_norms.h"

#include <array>
#include <utility>

namespace ttt::train {
namespace {

// Eight sums side by side become vector instructions; a single chain of additions would wait for each other.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

double total(const Lanes& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

void add_squares(const float* v, std::size_t n, Lanes& sum) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) {
      const double x = v[i + k];
      sum[k] += x * x;
    }
  for (; i < n; ++i) sum[0] += static_cast<double>(v[i]) * v[i];
}

void add_squares(const float* before, const float* after, std::size_t n, Lanes& weights, Lanes& change) {
  const auto add = [&](std::size_t i, std::size_t k) {
    const double x = after[i], d = x - before[i];
    weights[k] += x * x, change[k] += d * d;
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) add(i + k, k);
  for (; i < n; ++i) add(i, 0);
}

}  // namespace

std::int64_t LayerGroup::parameters() const {
  std::int64_t n = 0;
  for (const Range& r : ranges) n += static_cast<std::int64_t>(r.end - r.begin);
  return n;
}

std::string layer_group_of(const std::string& parameter) {
  static constexpr std::pair<const char*, const char*> kGroups[] = {
      {"backbone.body.layer1.", "layer1"}, {"backbone.body.layer2.", "layer2"}, {"backbone.body.layer3.", "layer3"}, {"backbone.body.layer4.", "layer4"},
      {"backbone.body.", "stem"},          {"backbone.fpn.", "fpn"},            {"rpn.", "rpn"},                     {"roi_heads.box_", "box_head"},
      {"roi_heads.mask_", "mask_head"}};
  for (const auto& [prefix, group] : kGroups)
    if (parameter.starts_with(prefix)) return group;
  return "other";
}

double squared_norm(const LayerGroup& group, std::span<const float> values) {
  Lanes sum{};
  for (const auto& [begin, end] : group.ranges) add_squares(values.data() + begin, end - begin, sum);
  return total(sum);
}

UpdateNorms squared_norms(const LayerGroup& group, std::span<const float> before, std::span<const float> after) {
  Lanes weights{}, change{};
  for (const auto& [begin, end] : group.ranges) add_squares(before.data() + begin, after.data() + begin, end - begin, weights, change);
  return {total(weights), total(change)};
}

}  // namespace ttt::train
