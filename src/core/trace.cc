#include "core/trace.h"

#include <algorithm>

namespace ttt::trace {

Lane& Recorder::lane(const std::string& name, std::size_t spans_per_step) {
  const std::lock_guard lock(mutex_);
  auto it = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.name() == name; });
  Lane& lane = it != lanes_.end() ? *it : lanes_.emplace_back(name, open_);
  const std::size_t wanted = std::min(kLargest, spans_per_step * static_cast<std::size_t>(steps_ + kAhead));
  // written once here: its pages are there
  if (lane.spans().empty() && lane.spans_.size() < wanted) lane.spans_.resize(wanted);
  return lane;
}

std::vector<const Lane*> Recorder::lanes() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Lane*> all;
  for (const Lane& lane : lanes_) all.push_back(&lane);
  return all;
}

}  // namespace ttt::trace
