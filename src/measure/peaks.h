// The machine's peak rates, as the ranks of a run share it. A step's own rates are read against these ceilings
// (Williams, Waterman, Patterson, "Roofline", 2009).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "result/peak.h"

namespace ttt::roofline {

struct PeakSettings {
  double seconds_each = 0.5;  // of measuring for each peak, roughly: at least three samples are taken
  int ranks_of_node = 0;      // which share its caches and memory; 0: all ranks
  std::function<void(const std::string& peak)> starts = [](const std::string&) {};  // is told what is measured next
};

// Collective: all ranks work at the same time, each with the threads that at::get_num_threads() says. A sample is the
// work of all ranks by the time between two barriers, the same on every rank. In flop/s (a multiply-add is two), fp32:
//   matrix_multiply   at::mm of square matrices, as large as the time allows: up to 8192
//   convolution       at::conv2d, 3x3, 256 channels, channels last, on the FPN's level P4 of an image of 800 x 1344
// and in B/s:
// memory_copy, memory_triad a = b, a = b + 2 c with plain stores, arrays four times the last-level cache in sum;
// STREAM's count: two and three
//                     times the array, not the read of a line before its first store
// all_reduce the communicator's all-reduce of 16 MiB: bus bandwidth, 2 (n - 1) / n x bytes / time, which is what leaves
// and what enters each
//                     rank; absent on one rank
// Throws Incorrect for a peak that no machine has (check_peaks).
std::vector<result::Peak> measure_peaks(comm::Communicator& comm, const PeakSettings& settings);

// A rate of zero, or beyond what any node gives to a rank (1 Pflop/s, 10 TB/s), is a fault of the measurement:
// Incorrect naming it.
void check_peaks(const std::vector<result::Peak>& peaks, int ranks);

}  // namespace ttt::roofline
