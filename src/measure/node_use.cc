#include "measure/node_use.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace ttt::ablations {

NodeUse::Moment NodeUse::now() const {
  Moment m{.node = {}, .own_s = Usage::now().cpu_s};
  if (world_->local_rank() > 0) return m;
  std::ifstream stat("/proc/stat");
  m.node = processor_times(stat).value_or(ProcessorTimes{});
  return m;
}

void NodeUse::end() {
  const Moment after = now();
  sum_.node.all_s += after.node.all_s - before_.node.all_s;
  sum_.node.busy_s += after.node.busy_s - before_.node.busy_s;
  sum_.node.stolen_s += after.node.stolen_s - before_.node.stolen_s;
  sum_.own_s += after.own_s - before_.own_s;
  if (world_->local_rank() == 0 && !clock_mhz_) clock_mhz_ = clock_mhz();
}

Counters NodeUse::noise(comm::Communicator& control) const {
  struct Node {
    double all_s, busy_s, stolen_s, own_s, clock_mhz;
  };
  constexpr std::size_t kNumbers = sizeof(Node) / sizeof(double);
  std::vector<Node> nodes(static_cast<std::size_t>(world_->nodes()));
  nodes[static_cast<std::size_t>(world_->node())] = {
      sum_.node.all_s, sum_.node.busy_s, sum_.node.stolen_s, sum_.own_s, clock_mhz_.value_or(0)};
  control.all_reduce_sum(&nodes[0].all_s, kNumbers * nodes.size());
  Counters out;
  for (const Node& n : nodes) {
    if (n.all_s > 0) {
      out["others"] = std::max(out["others"], std::clamp((n.busy_s - n.own_s) / n.all_s, 0.0, 1.0));
      out["stolen"] = std::max(out["stolen"], n.stolen_s / n.all_s);
    }
    if (n.clock_mhz > 0) {
      const auto slowest = out.emplace("clock_mhz", n.clock_mhz).first;
      slowest->second = std::min(slowest->second, n.clock_mhz);
    }
  }
  return out;
}

std::map<std::string, std::array<double, 2>> known_to_both(const Counters& a, const Counters& b) {
  std::map<std::string, std::array<double, 2>> out;
  for (const auto& [name, value] : a)
    if (const auto other = b.find(name); other != b.end()) out[name] = {value, other->second};
  return out;
}

}  // namespace ttt::ablations
