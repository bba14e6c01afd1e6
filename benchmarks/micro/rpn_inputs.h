// Inputs and outputs of the RPN for one batch: anchors, ten objects an image, logits and deltas.
#pragma once

#include "inputs.h"
#include "kernels/match/match.h"
#include "shapes.h"

namespace ttt::micro {

struct RpnInputs {
  static constexpr std::int64_t kGtCapacity = 20;
  explicit RpnInputs(const Detector& s)
      : shape(s), anchors(pyramid_anchors(s.height, s.width)), n(std::ssize(anchors.boxes) / 4), gt_count(s.images, 10), matched(s.images * n) {
    gt = random_boxes(1, s.images * kGtCapacity, static_cast<double>(s.height), static_cast<double>(s.width), 12);
    logits = random_values(2, s.images * n, -4, 4);
    deltas = random_values(3, s.images * n * 4, -0.3, 0.3);
    for (std::int64_t i = 0; i < s.images; ++i) size.insert(size.end(), {static_cast<std::int32_t>(s.height), static_cast<std::int32_t>(s.width)});
  }
  void match_anchors() {
    kernels::host::match({.images = shape.images, .candidates = n, .gt_capacity = kGtCapacity, .shared_candidates = true,
                          .allow_low_quality = true},
                         {gt.data(), gt_count.data(), anchors.boxes.data(), nullptr}, matched.data());
  }
  const Detector& shape;
  Anchors anchors;
  std::int64_t n;  // anchors of an image
  Values gt, logits, deltas;
  std::vector<std::int32_t> gt_count, size, matched;
};

}  // namespace ttt::micro
