// CUDA kernels over the flat parameters against their reference implementations: to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/adam/adam.h"
#include "kernels/nonfinite/nonfinite.h"
#include "kernels/round_bfloat16/round_bfloat16.h"
#include "kernels/sgd/sgd.h"
#include "kernels/squared_norms/squared_norms.h"
#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

// Of sizes about a block's and a vector's; one gradient is a NaN, one infinite.
struct Arrays {
  static constexpr std::int64_t kSizes[] = {1, 2000, 0, 1024, 33, 255, 1025};
  static constexpr std::int64_t kLargest = 2000;
  std::vector<std::vector<float>> grad, first, second, weight, direction;
  Arrays() {
    Stream s = stream(1040);
    for (const std::int64_t n : kSizes) {
      grad.push_back(uniform(s, n, -1, 1)), first.push_back(uniform(s, n, -1, 1));
      second.push_back(uniform(s, n, 0, 1)), weight.push_back(uniform(s, n, -1, 1));
      direction.push_back(std::vector<float>(static_cast<std::size_t>(n), 7));
    }
    grad[1][3] = kNan, grad[1][4] = kInf;
  }
  std::size_t size() const { return grad.size(); }
  static float lr_factor(std::size_t i) { return i % 2 ? 2.0f : 1.0f; }
  static float decay(std::size_t i) { return i % 2 ? 0.0f : 1e-4f; }
};

// The same on the device.
struct DeviceArrays {
  using Buffers = std::vector<std::unique_ptr<DeviceBuffer<float>>>;
  Buffers grad, first, second, weight, direction;
  explicit DeviceArrays(const Arrays& host) {
    const auto fill = [](Buffers& out, const std::vector<std::vector<float>>& from, Kind kind, const char* name) {
      for (const auto& values : from) out.push_back(std::make_unique<DeviceBuffer<float>>(values, kind, name));
    };
    fill(grad, host.grad, Kind::kInput, "grad"), fill(first, host.first, Kind::kInOut, "first");
    fill(second, host.second, Kind::kInOut, "second"), fill(weight, host.weight, Kind::kInOut, "weight");
    fill(direction, host.direction, Kind::kInOut, "direction");
  }
  void expect_equal(const Arrays& want) const {
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_same_bits(want.first[i], *first[i], "first"), expect_same_bits(want.second[i], *second[i], "second");
      expect_same_bits(want.weight[i], *weight[i], "weight");
      expect_same_bits(want.direction[i], *direction[i], "direction");
    }
  }
};

class Sgd : public FusedTest {};

struct SgdCase {
  bool skip, momentum, nesterov, factors;
};

std::vector<SgdTensor> sgd_tensors(const SgdCase& c, const auto& grad, const auto& momentum, const auto& weight) {
  std::vector<SgdTensor> list;
  for (std::size_t i = 0; i < std::size(Arrays::kSizes); ++i)
    list.push_back({.grad = grad(i),
        .momentum = c.momentum ? momentum(i) : nullptr,
        .weight = weight(i),
        .size = Arrays::kSizes[i],
        .lr_factor = Arrays::lr_factor(i),
        .weight_decay = Arrays::decay(i),
        .group = static_cast<std::int64_t>(i) % 3});
  return list;
}

TEST_F(Sgd, Variants_SameBits) {
  const std::vector<SgdFactors> factors = {{2, 3}, {0.1f, 0}, {-1, 1}};
  for (const SgdCase& c : {SgdCase{false, true, false, false}, SgdCase{true, true, false, false},
           SgdCase{false, true, true, true}, SgdCase{false, false, false, true}}) {
    const SgdRule rule{.momentum = 0.9f, .nesterov = c.nesterov};
    const std::int32_t skip = c.skip;
    Arrays want;
    auto list = sgd_tensors(
        c, [&](std::size_t i) { return want.grad[i].data(); }, [&](std::size_t i) { return want.first[i].data(); },
        [&](std::size_t i) { return want.weight[i].data(); });
    const float rates[] = {0.02f, 0.5f};
    host::sgd(rule, list.data(), std::ssize(list), Arrays::kLargest,
        {rates, rates + 1, &skip, c.factors ? factors.data() : nullptr});
    under_all_schedules([&] {
      const Arrays values;
      const DeviceArrays device(values);
      auto tensors = input(sgd_tensors(
                               c, [&](std::size_t i) { return device.grad[i]->get(); },
                               [&](std::size_t i) { return device.first[i]->get(); },
                               [&](std::size_t i) { return device.weight[i]->get(); }),
          "tensors");
      auto lr = input(std::vector<float>{0.02f}, "lr"), scale = input(std::vector<float>{0.5f}, "grad_scale");
      auto flag = input(std::vector<std::int32_t>{skip}, "skip");
      auto of_groups = input(factors, "factors");
      cuda::sgd(rule, tensors.get(), std::ssize(list), Arrays::kLargest,
          {lr.get(), scale.get(), flag.get(), c.factors ? of_groups.get() : nullptr}, nullptr);
      device.expect_equal(want);
    });
  }
}

class Adam : public FusedTest {};

std::vector<AdamTensor> adam_tensors(bool direction, const auto& array) {
  std::vector<AdamTensor> list;
  for (std::size_t i = 0; i < std::size(Arrays::kSizes); ++i) {
    AdamTensor t = array(i);
    if (!direction) t.direction = nullptr;
    t.size = Arrays::kSizes[i], t.lr_factor = Arrays::lr_factor(i), t.weight_decay = Arrays::decay(i);
    list.push_back(t);
  }
  return list;
}

TEST_F(Adam, UpdateAndDirection_SameBits) {
  const AdamRule rule{.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-6};
  const float rates[] = {0.02f, 0.5f}, correction[] = {1.9f, 3.7f};
  for (const bool direction : {false, true})
    for (const std::int32_t skip : {0, 1}) {
      Arrays want;
      auto list = adam_tensors(direction, [&](std::size_t i) {
        return AdamTensor{.grad = want.grad[i].data(),
            .first = want.first[i].data(),
            .second = want.second[i].data(),
            .weight = want.weight[i].data(),
            .direction = want.direction[i].data(),
            .size = 0,
            .lr_factor = 0,
            .weight_decay = 0};
      });
      host::adam(rule, list.data(), std::ssize(list), Arrays::kLargest, {rates, rates + 1, correction, &skip});
      under_all_schedules([&] {
        const Arrays values;
        const DeviceArrays device(values);
        auto tensors = input(adam_tensors(direction,
                                 [&](std::size_t i) {
                                   return AdamTensor{.grad = device.grad[i]->get(),
                                       .first = device.first[i]->get(),
                                       .second = device.second[i]->get(),
                                       .weight = device.weight[i]->get(),
                                       .direction = device.direction[i]->get(),
                                       .size = 0,
                                       .lr_factor = 0,
                                       .weight_decay = 0};
                                 }),
            "tensors");
        auto lr = input(std::vector<float>{rates[0]}, "lr"), scale = input(std::vector<float>{rates[1]}, "grad_scale");
        auto corrections = input(std::vector<float>{correction[0], correction[1]}, "correction");
        auto flag = input(std::vector<std::int32_t>{skip}, "skip");
        cuda::adam(rule, tensors.get(), std::ssize(list), Arrays::kLargest,
            {lr.get(), scale.get(), corrections.get(), flag.get()}, nullptr);
        device.expect_equal(want);
      });
    }
}

TEST(Nonfinite, OneBadGradient_Found) {
  for (const float bad : {0.0f, kNan, kInf, -kInf})
    for (const std::int64_t n : {1, 1023, 3000})
      under_all_schedules([&] {
        Stream s = stream(1050);
        std::vector<float> values = uniform(s, n, -1, 1);
        if (bad != 0) values.back() = bad;
        auto gradient = input(values, "gradient");
        auto found = in_out(std::vector<std::int32_t>{0}, "found");
        cuda::find_nonfinite(gradient.get(), n, found.get(), nullptr);
        std::int32_t want = 0;
        host::find_nonfinite(values.data(), n, &want);
        EXPECT_EQ(want, bad != 0);
        EXPECT_EQ(found[0], want);
      });
}

TEST(RoundBfloat16, AllModes_SameBits) {
  Stream s = stream(1070);
  std::vector<float> values = uniform(s, 1500, -3, 3);
  const float odd[] = {kNan, kInf, -kInf, 0.0f, -0.0f, 3.4028e38f, -3.4028e38f, 1e-42f};
  std::copy(std::begin(odd), std::end(odd), values.begin());
  const float update = 12345;
  for (const Rounding mode : {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kStochastic}) {
    std::vector<float> want = values;
    host::round_bfloat16(mode, 99, &update, std::ssize(want), want.data());
    under_all_schedules([&] {
      auto got = in_out(values, "values");
      auto number = input(std::vector<float>{update}, "update");
      cuda::round_bfloat16(mode, 99, number.get(), std::ssize(values), got.get(), nullptr);
      expect_same_bits(want, got, "values");
    });
  }
}

void expect_kernel(const std::vector<NormPiece>& pieces, const std::vector<std::int64_t>& begin,
    const std::vector<float>& gradient, const std::vector<float>* before, const std::vector<float>& after,
    const std::vector<SquaredNorms>& want) {
  const std::int64_t groups = std::ssize(want), count = std::ssize(pieces);
  under_all_schedules([&] {
    auto piece = input(pieces, "piece");
    auto group = input(begin, "group_begin");
    auto grad = input(gradient, "gradient"), old = input(before ? *before : after, "before"),
         now = input(after, "after");
    auto out = output<double>(3 * groups, "out");
    auto partial = scratch(count * sizeof(SquaredNorms));
    cuda::squared_norms({piece.get(), group.get(), count, groups}, grad.get(), before ? old.get() : nullptr, now.get(),
        reinterpret_cast<SquaredNorms*>(partial.get()), reinterpret_cast<SquaredNorms*>(out.get()), nullptr);
    std::vector<double> flat;
    for (const SquaredNorms& w : want) flat.insert(flat.end(), {w.gradient, w.weight, w.change});
    expect_same_bits(flat, out, "sums");
  });
}

TEST(SquaredNorms, OddGroups_SameBits) {
  Stream s = stream(1060);
  const std::int64_t n = 60'000;
  std::vector<float> gradient = uniform(s, n, -1, 1), before = uniform(s, n, -1, 1), after = before;
  for (std::int64_t i = 0; i < n; ++i)
    gradient[i] *= std::pow(10.0f, static_cast<float>(i % 40) - 30), after[i] += gradient[i];
  // A group of more pieces than a warp has lanes, of one value, of none, of two ranges, of odd ends; in the last one a
  // NaN.
  const std::vector<std::vector<std::int64_t>> ranges{
      {7, 40'000}, {41'000, 41'001}, {}, {42'000, 43'100, 0, 5}, {44'000, 45'023, 45'023, 46'111}, {50'000, 50'040}};
  gradient[50'033] = kNan;
  std::vector<NormPiece> pieces;
  std::vector<std::int64_t> begin{0};
  for (const auto& group : ranges) {
    for (std::size_t r = 0; r < group.size(); r += 2)
      for (std::int64_t at = group[r]; at < group[r + 1]; at += kNormPiece)
        pieces.push_back({at, std::min(kNormPiece, group[r + 1] - at)});
    begin.push_back(std::ssize(pieces));
  }
  const std::int64_t groups = std::ssize(ranges), count = std::ssize(pieces);
  std::vector<SquaredNorms> want(groups);
  host::squared_norms(
      {pieces.data(), begin.data(), count, groups}, gradient.data(), before.data(), after.data(), want.data());
  for (std::int64_t g = 0; g < groups; ++g) {
    long double sum[3] = {};
    for (std::size_t r = 0; r < ranges[g].size(); r += 2)
      for (std::int64_t i = ranges[g][r]; i < ranges[g][r + 1]; ++i) {
        const long double change = static_cast<long double>(after[i]) - before[i];
        sum[0] += static_cast<long double>(gradient[i]) * gradient[i],
            sum[1] += static_cast<long double>(after[i]) * after[i], sum[2] += change * change;
      }
    const double got[3] = {want[g].gradient, want[g].weight, want[g].change};
    for (int k = 0; k < 3; ++k) {
      // A term meets at most 32 additions in its lane, 5 between lanes, and as many again over pieces: each rounds by
      // half a unit in the last place.
      if (std::isnan(sum[k])) {
        EXPECT_TRUE(std::isnan(got[k])) << g;
        continue;
      }
      EXPECT_NEAR(got[k], static_cast<double>(sum[k]), 80 * 0x1p-53 * static_cast<double>(sum[k])) << g << " " << k;
    }
  }
  for (const bool change : {true, false}) {
    std::vector<SquaredNorms> expected = want;
    if (!change)
      for (SquaredNorms& w : expected) w.change = 0;
    std::vector<SquaredNorms> got(groups);
    host::squared_norms({pieces.data(), begin.data(), count, groups}, gradient.data(), change ? before.data() : nullptr,
        after.data(), got.data());
    for (std::int64_t g = 0; g < groups; ++g) EXPECT_EQ(got[g].change == 0, expected[g].change == 0) << g;
    expect_kernel(pieces, begin, gradient, change ? &before : nullptr, after, got);
  }
}

}  // namespace
}  // namespace ttt::kernels
