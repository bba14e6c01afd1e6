#include "eval/draw/objects.h"

#include <algorithm>
#include <cstdio>

namespace ttt::eval {

std::vector<const coco::Detection*> worth_showing(
    std::span<const coco::Detection> detections, double threshold, std::size_t at_least) {
  std::vector<const coco::Detection*> all;
  for (const coco::Detection& d : detections) all.push_back(&d);
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->score < b->score; });
  const auto high = std::find_if(all.begin(), all.end(), [&](const auto* d) { return d->score >= threshold; });
  const auto kept =
      std::max<std::ptrdiff_t>(all.end() - high, std::min(static_cast<std::ptrdiff_t>(at_least), std::ssize(all)));
  return {all.end() - kept, all.end()};
}

Marked marked(const coco::Detection& d, const std::string& category) {
  char score[16];
  std::snprintf(score, sizeof score, " %.2f", d.score);
  return {.box = d.bbox,
      .mask = d.mask.height > 0 ? &d.mask : nullptr,
      .label = category + score,
      .colour = colour_of(static_cast<std::size_t>(d.category_id))};
}

}  // namespace ttt::eval
