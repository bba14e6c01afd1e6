#include "telemetry/layer_groups.h"

#include <utility>

namespace ttt::train {

std::int64_t LayerGroup::parameters() const {
  std::int64_t n = 0;
  for (const Range& r : ranges) n += static_cast<std::int64_t>(r.end - r.begin);
  return n;
}

std::string layer_group_of(const std::string& parameter) {
  static constexpr std::pair<const char*, const char*> kGroups[] = {{"backbone.body.layer1.", "layer1"},
      {"backbone.body.layer2.", "layer2"}, {"backbone.body.layer3.", "layer3"}, {"backbone.body.layer4.", "layer4"},
      {"backbone.body.", "stem"}, {"backbone.fpn.", "fpn"}, {"rpn.", "rpn"}, {"roi_heads.box_", "box_head"},
      {"roi_heads.mask_", "mask_head"}};
  for (const auto& [prefix, group] : kGroups)
    if (parameter.starts_with(prefix)) return group;
  return "other";
}

}  // namespace ttt::train
