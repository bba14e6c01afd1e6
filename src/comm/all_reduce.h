// All-reduce whose bits depend on the ranks' values alone.
//
// Element i becomes ((x0[i] + x1[i]) + x2[i]) + ... in rank order, whichever rank adds it up and whatever the size of
// the message: so a buffer gives the same bits whole or in buckets, and on every run. MPI_Allreduce changes its
// algorithm, and with it the order, with the message's size.
//
// Small buffers: every rank gets all the ranks' values (Bruck's all-gather, log2(size) messages) and adds.
// Others: direct reduce-scatter, then all-gather: rank r gets slice r from every rank, adds, and sends the sum to all.
// 2 (size-1)/size of the buffer leave each rank, which is optimal, in 2 (size-1) messages. The buffer is walked in
// segments so that the values to be added stay in the cache and one segment travels while another is added.
// (Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005)
#pragma once

#include <cstddef>
#include <vector>

#include "comm/channel.h"

namespace ttt::comm {

// Staging memory that grows to what the largest collective needed (a few MB) and is kept.
using Scratch = std::vector<char>;

struct Sum {
  template <class T> T operator()(T a, T b) const { return a + b; }
};
// NaN wins, so that a NaN anywhere is seen everywhere.
struct Max {
  template <class T> T operator()(T a, T b) const { return a != a || a > b ? a : b; }
};

// In place; instantiated for (float, Sum), (double, Sum), (double, Max).
template <class T, class Op>
void all_reduce(const Channel& channel, const Call& call, T* data, std::size_t count, Scratch& scratch);

}  // namespace ttt::comm
