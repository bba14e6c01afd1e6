// The table of NVIDIA's nccl-tests for all-reduces of float32 in host memory: ours beside MPI_Allreduce.
//
// Bandwidths are those of doc/PERFORMANCE.md in github.com/NVIDIA/nccl-tests: algbw = size / time, and
// busbw = algbw * 2 (n - 1) / n for n ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "result/peer_ratio.h"
#include "settings/json.h"

namespace ttt::micro {

// Buffers that every rank sums in place, in as many calls as there are counts of elements.
struct Buffers {
  std::vector<std::size_t> counts;
  std::vector<float> values;
  std::size_t bytes() const { return values.size() * sizeof(float); }
};
using Reduce = std::function<void(Buffers&)>;

// Collective. How many elements, on all ranks together, are not the sum over the ranks. The values are small integers:
// every order of summation gives the same bits.
std::int64_t wrong_elements(comm::Communicator& comm, const Reduce& reduce, Buffers& buffers);

struct Timing {
  int rounds = 4, iterations = 5;
};
struct Side {
  std::string name;                 // "ours"
  std::function<double()> call;     // returns the seconds that it is about
  std::vector<double> real_s = {};  // of each round: mean over its calls of the slowest rank's seconds
  std::vector<double> cpu_s = {};   // of this process, all its threads
};
// Collective. Calls each side as often in each round, after one call that is not timed. Sides take turns, first to last
// and then last to first.
void measure(comm::Communicator& comm, const Timing& timing, std::vector<Side>& sides);

// Prints each row when it is measured, on every rank: the others' stdout leads nowhere. A reader of nccl-tests finds
// its columns; MPI_Allreduce stands where the in-place one does there. Both sides reduce in place.
class AllReduceTable {
 public:
  AllReduceTable(comm::Communicator& comm, const Timing& timing) : comm_(comm), timing_(timing) {}

  // Collective. Each adds entries to the JSON, one for each side and round: "all_reduce/4KiB/ours".
  void add_size(std::size_t bytes);
  void add_buckets(const std::vector<std::size_t>& counts);
  void add_lines(const std::string& operation, std::vector<Side> sides);  // what is not an all-reduce alone

  static void print_header();
  void print_end() const;

  double average_bus_bandwidth() const;  // of ours over the sizes, in GB/s
  std::int64_t wrong() const { return wrong_; }
  std::vector<result::PeerRatio> ratios() const { return ratios_.rows(); }
  const result::Json& entries() const { return entries_; }

 private:
  // Returns the sides, measured: ours and MPI's.
  std::vector<Side> add_row(const std::string& shape, const std::string& name, const Reduce& ours, Buffers& buffers);
  void keep(const std::string& operation, const Side& side, double bus_bytes, std::int64_t wrong);
  double bus_factor() const { return 2.0 * (comm_.size() - 1) / comm_.size(); }

  comm::Communicator& comm_;
  Timing timing_;
  result::PeerRatios ratios_;
  result::Json entries_ = result::Json::array();
  std::vector<double> ours_, mpi_;  // bus bandwidths of the sizes, in GB/s
  std::int64_t wrong_ = 0;
};

}  // namespace ttt::micro
