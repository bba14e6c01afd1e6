// The facts of all ranks, and how sentences name ranks and nodes.
#pragma once

#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::preflight {

class Cluster {
 public:
  // Facts in rank order (preflight/facts.h). Nodes are numbered as they first appear, as in the result's system.nodes.
  explicit Cluster(std::vector<result::Json> facts_of_rank);

  int ranks() const { return static_cast<int>(facts_.size()); }
  int nodes() const { return static_cast<int>(ranks_of_node_.size()); }
  const result::Json& rank(int r) const { return facts_[r]; }
  // of its first rank, which knows the node
  const result::Json& node(int n) const { return facts_[ranks_of_node_[n].front()]; }
  int node_of(int rank) const { return node_of_[rank]; }
  const std::vector<int>& ranks_of(int node) const { return ranks_of_node_[node]; }

  std::string name(int rank) const;                              // "rank 5 (node 1)"
  std::string names(const std::vector<int>& ranks) const;        // "rank 5 (node 1)", "ranks 0, 1 and 7 more"
  static std::string node_names(const std::vector<int>& nodes);  // "node 1", "nodes 0, 2"
  // [value of each node's first rank, ...]; null where a node lacks it.
  result::Json of_node(const char* member) const;
  result::Json of_rank(const char* member) const;

 private:
  std::vector<result::Json> facts_;
  std::vector<int> node_of_;
  std::vector<std::vector<int>> ranks_of_node_;
};

// Those whose value is not the one that most have; where two are equally frequent, the one that appears first counts as
// usual.
struct Odd {
  result::Json usual;
  std::vector<int> who;
};
Odd odd_ones(const result::Json& values);

}  // namespace ttt::preflight
