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
  std::int64_t parameters() const {
    std::int64_t n = 0;
    for (const Range& r : ranges) n += static_cast<std::int64_t>(r.end - r.begin);
    return n;
  }
};

}  // namespace ttt::train
