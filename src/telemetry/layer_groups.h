// Parameters by groups of layers, as curves show them. The model's parameters lie one behind the other, so a group is a
// few ranges of one array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::train {

struct LayerGroup {
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  std::string name;
  std::vector<Range> ranges;
  std::int64_t parameters() const;
};

// Where a parameter belongs, by torchvision's name of it: stem, layer1 .. layer4, fpn, rpn, box_head, mask_head; other
// for any other name.
std::string layer_group_of(const std::string& parameter);

}  // namespace ttt::train
