#include "tools/preflight/cluster.h"

#include <algorithm>
#include <map>

namespace ttt::preflight {
namespace {

using result::Json;

constexpr std::size_t kMostNamed = 8;

std::string listed(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostNamed); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return numbers.size() > kMostNamed ? text + " and " + std::to_string(numbers.size() - kMostNamed) + " more" : text;
}

Json values_of(const std::vector<const Json*>& facts, const char* member) {
  Json list = Json::array();
  for (const Json* f : facts) list.push_back(f->contains(member) ? f->at(member) : Json());
  return list;
}

}  // namespace

Cluster::Cluster(std::vector<Json> facts_of_rank) : facts_(std::move(facts_of_rank)) {
  std::map<std::string, int> index;
  for (int r = 0; r < ranks(); ++r) {
    const auto [at, is_new] = index.emplace(facts_[r].value("host", ""), nodes());
    if (is_new) ranks_of_node_.emplace_back();
    node_of_.push_back(at->second);
    ranks_of_node_[at->second].push_back(r);
  }
}

std::string Cluster::name(int rank) const {
  return "rank " + std::to_string(rank) + " (node " + std::to_string(node_of_[rank]) + ")";
}

std::string Cluster::names(const std::vector<int>& ranks) const {
  return ranks.size() == 1 ? name(ranks[0]) : "ranks " + listed(ranks);
}

std::string Cluster::node_names(const std::vector<int>& nodes) {
  return (nodes.size() == 1 ? "node " : "nodes ") + listed(nodes);
}

Json Cluster::of_node(const char* member) const {
  std::vector<const Json*> first;
  for (int n = 0; n < nodes(); ++n) first.push_back(&node(n));
  return values_of(first, member);
}

Json Cluster::of_rank(const char* member) const {
  std::vector<const Json*> all;
  for (const Json& f : facts_) all.push_back(&f);
  return values_of(all, member);
}

Odd odd_ones(const Json& values) {
  std::map<std::string, int> count;
  for (const Json& v : values) ++count[v.dump()];
  Odd odd;
  int most = 0;
  for (const Json& v : values)
    if (count[v.dump()] > most) most = count[v.dump()], odd.usual = v;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != odd.usual) odd.who.push_back(static_cast<int>(i));
  return odd;
}

}  // namespace ttt::preflight
