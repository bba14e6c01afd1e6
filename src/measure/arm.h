// One side of a comparison: what the runner asks of it, whatever it runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "measure/paired.h"
#include "settings/json.h"

namespace ttt::ablations {

// Means over a step, by name; METRICS.md says what each is.
using Counters = std::map<std::string, double>;

class Arm : public harness::Arm {
 public:
  // What was built.
  virtual result::Json describe() const = 0;
  // The numbers by which the gate compares the sides, of all that ran so far (losses of training, signatures of an
  // operation's results). This rank's.
  virtual const std::vector<double>& outputs() const = 0;
  virtual std::string place_of(std::size_t output) const = 0;  // "step 12", the gate's steps included
  virtual comm::Communicator& control() = 0;                   // over all ranks of the launch

  // From here on, usage counts.
  virtual void start_counting() {}
  // Since then, what the operating system counted for a step, sum over ranks, and how uneven the ranks were.
  // Collective.
  virtual Counters usage() = 0;
  // What `steps` more, which are observed closely and not timed, ask of LibTorch and of the network. Collective.
  virtual Counters operators(int steps) = 0;
};

// What the operating system counts for this process, and the bytes that it sent over MPI.
struct Usage {
  double cpu_s = 0, page_faults = 0, preemptions = 0, sent_bytes = 0;
  static Usage now();
  Usage operator-(const Usage& other) const {
    return {cpu_s - other.cpu_s, page_faults - other.page_faults, preemptions - other.preemptions,
        sent_bytes - other.sent_bytes};
  }
  Usage& operator+=(const Usage& other);
  Counters per(std::int64_t steps) const;
};

// What a step asks of LibTorch, counted while `work` runs `steps` steps: operator_calls, flops, sync_points,
// allocations, allocated_bytes, and peak_bytes, the most of them alive at one moment.
Counters operators_of(int steps, const std::function<void()>& work);

// The sum over ranks of each counter. Collective; the same names on every rank.
Counters sum_over_ranks(const Counters& mine, comm::Communicator& comm);

}  // namespace ttt::ablations
