// Losses of boxes against finite differences, and what each promises.
// tests/models/box_losses.py has torchvision's values.
#include "models/mask_rcnn/box_losses/box_loss.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "models/mask_rcnn/losses.h"

namespace ttt::model {
namespace {

const std::vector<std::string> kOverlapLosses = {"giou", "diou", "ciou"};

at::Tensor rows_of(const std::vector<double>& values) { return at::tensor(values, at::kDouble).view({-1, 4}); }

// In double: differences of float32 losses would be rounding.
BoxRows rows(at::Tensor deltas, at::Tensor reference, at::Tensor target, bool legacy = false) {
  kernels::BoxCoderParams coder{.wx = 10, .wy = 10, .ww = 5, .wh = 5};
  coder.legacy = legacy;
  const at::Tensor weight = at::ones({deltas.size(0)}, at::kDouble);
  return {.deltas = std::move(deltas),
      .target_deltas = {},
      .reference = std::move(reference),
      .target = std::move(target),
      .weight = weight,
      .beta = 0,
      .coder = coder};
}

double loss(const std::string& kind, const BoxRows& r) { return box_loss_sum(kind, 1, r).item<double>(); }

// Overlapping, contained, disjoint in one direction, disjoint in both.
const at::Tensor kReference = rows_of({10, 10, 30, 40, 10, 10, 30, 40, 10, 10, 30, 40, 10, 10, 30, 40});
const at::Tensor kTarget = rows_of({15, 20, 40, 45, 12, 15, 20, 30, 50, 12, 70, 38, 60, 70, 80, 90});
const at::Tensor kDeltas =
    rows_of({0.3, -0.2, 0.4, 0.1, 0.1, 0.3, -0.2, 0.6, 0.7, 0.4, 0.1, -0.3, -0.4, 0.2, 0.5, 0.3});

// By hand, of row `row` of the boxes above: IoU, and the term of the aspect ratios.
struct Aspect {
  double iou, v;
};
Aspect aspect(const at::Tensor& deltas, std::int64_t row, bool legacy) {
  const auto at = [row](const at::Tensor& t, int i) { return t[row][i].item<double>(); };
  const double extra = legacy ? 1 : 0;
  double low[2], high[2], side[2], target_side[2], both = 1;
  for (int i : {0, 1}) {
    const double reference = at(kReference, i + 2) - at(kReference, i) + extra;
    const double centre = at(kReference, i) + reference / 2 + at(deltas, i) / 10 * reference;
    side[i] = reference * std::exp(at(deltas, i + 2) / 5);
    target_side[i] = at(kTarget, i + 2) - at(kTarget, i) + extra;
    low[i] = centre - side[i] / 2, high[i] = centre + side[i] / 2;
    both *= std::max(0.0, std::min(high[i], at(kTarget, i + 2) + extra) - std::max(low[i], at(kTarget, i)));
  }
  const double angle = std::atan(target_side[0] / target_side[1]) - std::atan(side[0] / side[1]);
  return {both / (side[0] * side[1] + target_side[0] * target_side[1] - both),
      4 * angle * angle / (std::numbers::pi * std::numbers::pi)};
}

// CIoU's alpha has no gradient: beside DIoU it is the slope of v, times alpha where it stands.
double aspect_loss(const at::Tensor& deltas, bool legacy) {
  double sum = 0;
  for (std::int64_t row = 0; row < kDeltas.size(0); ++row) {
    const auto [iou, v] = aspect(kDeltas, row, legacy);
    sum += v / (1 - iou + v) * aspect(deltas, row, legacy).v;
  }
  return sum;
}

// To 1e-8. A central difference errs by some 1e-10: the step squared, and rounding over the step. The alpha by hand has
// no eps of 1e-7, times a slope of v below 0.1.
TEST(BoxLoss, Gradients_AreFiniteDifferences) {
  constexpr double kStep = 1e-6;
  for (const bool legacy : {false, true})
    for (const std::string& kind : kOverlapLosses) {
      const auto value = [&](const at::Tensor& d) {
        if (kind != "ciou") return loss(kind, rows(d, kReference, kTarget, legacy));
        return loss("diou", rows(d, kReference, kTarget, legacy)) + aspect_loss(d, legacy);
      };
      const at::Tensor deltas = kDeltas.clone().requires_grad_();
      box_loss_sum(kind, 1, rows(deltas, kReference, kTarget, legacy)).backward();
      for (std::int64_t i = 0; i < deltas.numel(); ++i) {
        const auto moved = [&](double by) {
          at::Tensor d = kDeltas.clone();
          d.view(-1)[i] += by;
          return value(d);
        };
        const double difference = (moved(kStep) - moved(-kStep)) / (2 * kStep);
        EXPECT_NEAR(deltas.grad().view(-1)[i].item<double>(), difference, 1e-8) << kind << " " << i;
      }
    }
}

// To 1e-6: eps is 1e-7 beside areas of 1 and more.
TEST(BoxLoss, KnownBoxes) {
  // [0, 2] x [0, 2] against [1, 3] x [1, 3]: intersection 1, union 7, hull 9, centres apart by 2^(1/2)
  const BoxRows r = rows(at::zeros({1, 4}, at::kDouble), rows_of({0, 0, 2, 2}), rows_of({1, 1, 3, 3}));
  EXPECT_NEAR(loss("giou", r), 1 - 1.0 / 7 + 2.0 / 9, 1e-6);
  EXPECT_NEAR(loss("diou", r), 1 - 1.0 / 7 + 2.0 / 18, 1e-6);
  EXPECT_NEAR(loss("ciou", r), 1 - 1.0 / 7 + 2.0 / 18, 1e-6);  // both are square
  const BoxRows same = rows(at::zeros({1, 4}, at::kDouble), rows_of({4, 5, 9, 7}), rows_of({4, 5, 9, 7}));
  for (const std::string& kind : kOverlapLosses) EXPECT_NEAR(loss(kind, same), 0, 1e-6) << kind;
  // legacy boxes cover one pixel more: [0, 1] is the interval [0, 2] above
  const BoxRows legacy = rows(at::zeros({1, 4}, at::kDouble), rows_of({0, 0, 1, 1}), rows_of({1, 1, 2, 2}), true);
  EXPECT_NEAR(loss("giou", legacy), loss("giou", r), 1e-12);
}

TEST(BoxLoss, DisjointBoxes_ArePulledTogether) {
  for (const std::string& kind : kOverlapLosses) {
    const at::Tensor deltas = at::zeros({1, 4}, at::kDouble).requires_grad_();
    const at::Tensor reference = rows_of({0, 0, 10, 10}), target = rows_of({40, 60, 50, 70});
    const at::Tensor first = box_loss_sum(kind, 1, rows(deltas, reference, target));
    EXPECT_GT(first.item<double>(), 1) << kind;  // no overlap, and a distance
    first.backward();
    EXPECT_LT(deltas.grad()[0][0].item<double>(), 0) << kind;  // to the right
    EXPECT_LT(deltas.grad()[0][1].item<double>(), 0) << kind;  // and down
    EXPECT_LT(loss(kind, rows(deltas.detach() - 0.1 * deltas.grad(), reference, target)), first.item<double>()) << kind;
  }
}

TEST(BoxLoss, Fillers_CountNothing) {
  for (const std::string& kind : kOverlapLosses) {
    BoxRows r = rows(rows_of({1e30, -1e30, 1e30, 1e30}).requires_grad_(), rows_of({0, 0, 1, 1}), rows_of({0, 0, 1, 1}));
    r.weight.zero_();
    const at::Tensor sum = box_loss_sum(kind, 1, r);
    EXPECT_EQ(sum.item<double>(), 0) << kind;
    sum.backward();
    EXPECT_EQ(r.deltas.grad().abs().sum().item<double>(), 0) << kind;
  }
}

TEST(BoxLoss, Weight_IsAFactor) {
  const BoxRows r = rows(kDeltas, kReference, kTarget);
  EXPECT_DOUBLE_EQ(box_loss_sum("giou", 10, r).item<double>(), 10 * loss("giou", r));
  EXPECT_THROW(box_loss_sum("nosuch", 1, r), UsageError);
}

// Szegedy et al. 2016, section 7: the loss against the label and the loss against all classes alike, mixed.
TEST(LabelSmoothing, MixesTwoLosses) {
  constexpr double kSmoothing = 0.1;
  const at::Tensor logits = at::tensor({0.3, -1.2, 2.0, 0.7, 0.1, -0.4}, at::kDouble).view({2, 3});
  const auto label = [](std::int64_t a, std::int64_t b) { return at::tensor({a, b}, at::kLong); };
  const auto classes = [&](std::int64_t c) { return cross_entropy_sum(logits, label(c, c)).item<double>(); };
  EXPECT_NEAR(cross_entropy_sum(logits, label(2, 0), kSmoothing).item<double>(),
      (1 - kSmoothing) * cross_entropy_sum(logits, label(2, 0)).item<double>() +
          kSmoothing * (classes(0) + classes(1) + classes(2)) / 3,
      1e-12);
  const at::Tensor target = at::tensor({1.0, 0.0, 1.0, 0.0, 0.0, 1.0}, at::kDouble).view({2, 3}),
                   weight = at::tensor({1.0, 1.0, 1.0, 1.0, 1.0, 0.0}, at::kDouble).view({2, 3});
  const auto bce = [&](const at::Tensor& t, double s = 0) { return bce_sum(logits, t, weight, s).item<double>(); };
  EXPECT_NEAR(bce(target, kSmoothing),
      (1 - kSmoothing) * bce(target) + kSmoothing / 2 * (bce(at::ones_like(target)) + bce(at::zeros_like(target))),
      1e-12);
}

}  // namespace
}  // namespace ttt::model
