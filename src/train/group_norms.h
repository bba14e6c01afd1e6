// Norms over groups of layers. The model's parameters lie one behind the other, so a group is a few ranges of one array.
#pragma once

#include <cstdint>
#include <span>
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

// Where a parameter belongs, by torchvision's name of it: stem, layer1 .. layer4, fpn, rpn, box_head, mask_head; other for any other name.
std::string layer_group_of(const std::string& parameter);

// Sums of squares in double precision: gradients of 1e-20 count, and the sum's error does not grow with the number of parameters. Over a range
// that the ranges of all groups lie in.
double squared_norm(const LayerGroup& group, std::span<const float> values);

// Of the weights after an update, and of what it changed, in one pass over both.
struct UpdateNorms {
  double weights = 0, change = 0;
};
UpdateNorms squared_norms(const LayerGroup& group, std::span<const float> before, std::span<const float> after);

}  // namespace ttt::train
