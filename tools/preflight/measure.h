// Preflight measurements that need all ranks together.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/clock_offset.h"
#include "comm/communicator.h"
#include "tools/preflight/settings.h"

namespace ttt::preflight {

// Rates of one rank while all ranks work at the same time: the best of the repeats, since every disturbance makes a
// rate smaller.
struct Speed {
  double hash_bytes_per_s = 0;  // SHA-256 of an array in the caches: the core's clock
  // a copy of arrays beyond the caches, bytes read and written: the rank's share of the memory
  double copy_bytes_per_s = 0;
};

struct Reduction {
  std::vector<double> small_s;  // of 8 bytes, the slowest rank's time, one for each repeat
  std::vector<double> large_s;  // of Settings::all_reduce_bytes
  bool right = true;            // whether every rank got the sum
  double bus_bytes = 0;         // 2 (n - 1) / n x bytes: what enters and what leaves each rank
};

struct Measured {
  std::vector<Speed> speed_of_rank;
  std::vector<comm::ClockOffset> clock_of_rank;  // by the clock of the day
  // [root's node][node]: seconds until that node's first rank had what the root's first rank broadcast; the best of the
  // repeats. Empty on one node.
  std::vector<std::vector<double>> link_s;
  Reduction reduction;  // without samples on one rank
};

// Collective; rank 0 gets everything, the others nothing that means something. `first_ranks`: the first rank of each
// node, the same on every rank.
Measured measure(comm::Communicator& comm, const std::vector<int>& first_ranks, const Settings& settings);

}  // namespace ttt::preflight
