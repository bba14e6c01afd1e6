// In which order work is recorded as a graph, and what is taken back where a call fails. The calls are CUDA's and
// torch's (cuda_graphs.cc), behind a seam, so that the failure of each is tested on machines without a GPU. Needs
// neither CUDA nor torch.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "cuda/graphs.h"

namespace ttt::cuda {

// Memory of the device that graphs share; torch's MempoolId_t.
using PoolId = std::pair<unsigned long long, unsigned long long>;

// The calls for one graph. Each throws where it fails.
class GraphCalls {
 public:
  // Gives the graph back, and where ended() its share of the pool.
  virtual ~GraphCalls() = default;

  // In this order:
  virtual void settle() = 0;  // the host waits for the device, and memory that is only kept goes back to it
  virtual std::int64_t free_bytes() = 0;
  // from now on the current stream records, and its allocations come from the pool
  virtual void begin(const PoolId& pool) = 0;
  virtual void end() = 0;
  virtual void instantiate() = 0;
  virtual std::int64_t count_nodes() = 0;

  virtual void replay() = 0;

  // Where one failed:
  virtual bool holds(const PoolId& pool) const = 0;  // whether begin() came as far as the pool
  virtual bool ended() const = 0;                    // whether end() came to its end
  virtual void end_stream() = 0;                     // where it still records
  // Allocations come from the pool no more; throws where that is over.
  virtual void end_device_allocations(const PoolId& pool) = 0;
  virtual void end_host_allocations(const PoolId& pool) = 0;
  // This graph's share of it.
  virtual void release_device_pool(const PoolId& pool) = 0;
  virtual void release_host_pool(const PoolId& pool) = 0;
  virtual void end_random_numbers() = 0;  // torch's generator counts on a recording no more
  virtual void forget_error() = 0;        // CUDA's last, which the next call that asks would take for its own
};

// Graphs of one pool, as long as all goes well: after a failure the next one is given a pool of its own, which those
// after it share. Graphs that are there keep theirs.
std::unique_ptr<GraphDevice> make_recorded_graphs(
    std::function<PoolId()> new_pool, std::function<std::unique_ptr<GraphCalls>()> new_graph);

}  // namespace ttt::cuda
