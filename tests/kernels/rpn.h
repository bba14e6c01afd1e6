// An RPN's outputs, for tests of the proposals.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/proposals/proposals.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {

struct Rpn {
  Rpn(std::int64_t images, const std::vector<std::int64_t>& per_level, bool ties) {
    p.images = images, p.levels = static_cast<int>(per_level.size()), p.anchors = 0;
    for (int l = 0; l < p.levels; ++l) p.level_start[l] = p.anchors, p.anchors += per_level[l];
    p.level_start[p.levels] = p.anchors;
    Stream s = stream(910 + static_cast<std::uint64_t>(p.anchors) + ties);
    logits = uniform(s, images * p.anchors, -4, 4);
    if (ties)
      for (float& x : logits) x = std::round(x);  // -0 beside +0 too
    deltas = uniform(s, images * p.anchors * 4, -0.5, 0.5);
    anchors = boxes_in(s, p.anchors, 200, 260, 8);
    for (std::int64_t n = 0; n < images; ++n) size.insert(size.end(), {200 - static_cast<int>(n), 250});
  }
  ProposalsIn in() const { return {logits.data(), deltas.data(), anchors.data(), size.data()}; }

  ProposalParams p;
  std::vector<float> logits, deltas, anchors;
  std::vector<std::int32_t> size;
};

}  // namespace ttt::kernels
