// Collectives over the ranks of a run. MPI and NCCL are included in this folder and in src/cuda only.
//
// Every rank calls the same collectives in the same order; a communicator is used by one thread at a time. An error
// (a peer that does not answer within the limit) leaves the communicator unusable: the run must end with
// World::abort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/trace.h"

namespace ttt::comm {

// A collective that was started and may still be running. Destroying it waits.
class Work {
 public:
  virtual ~Work() = default;
  // Returns when the result is there (host memory), or when it is ordered before all later work of the current
  // stream (device memory). Throws what the collective threw.
  virtual void wait() = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // single | mpi | nccl

  // In place; every rank gets the same bits. Sums are taken in the buffer's own precision. `single` and `mpi` reduce
  // host memory, and add the ranks' values in rank order, ((x0 + x1) + x2) + ..., for every element. The bits depend
  // neither on timing nor on how a buffer is cut into calls. `nccl` reduces device memory in NCCL's order.
  virtual void all_reduce_sum(float* data, std::size_t count) = 0;
  virtual void all_reduce_sum(double* data, std::size_t count) = 0;
  // A NaN on any rank is a NaN on all.
  virtual void all_reduce_max(double* data, std::size_t count) = 0;
  // Started in the same order on every rank; `data` must stay alive and untouched until wait() returns. Calls that
  // follow are queued behind it.
  virtual std::unique_ptr<Work> all_reduce_sum_async(float* data, std::size_t count) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  // Rank `root` gets the bytes of every rank in rank order, the others an empty vector. Host memory.
  virtual std::vector<std::string> gather(const std::string& bytes, int root) = 0;
  virtual void barrier() = 0;

  // Whether collectives of floats are work of a device's stream, which it can record and replay.
  virtual bool on_device() const { return false; }
  // The limit of time holds for all that the current stream of the device holds now, too: replays of what it recorded.
  // An error calls it `what`, and names the collectives that were recorded.
  virtual void watch(const std::string& /*what*/) {}

  // All-reduces of float are recorded there from now on, while none is under way; null: nowhere. `mpi` only: what moves
  // on a device, the host does not see. number_next: what the next one is called there, and in an error (`nccl`).
  void trace(trace::Lane* lane) { lane_ = lane; }
  void number_next(std::int32_t number) { number_ = number; }

 protected:
  trace::Lane* lane_ = nullptr;
  std::int32_t number_ = 0;
};

// By all communicators of this process over MPI, since it began. Heartbeats and what NCCL moves are not in it.
std::int64_t sent_bytes();

// Rank `root`'s text on every rank. Collective.
inline std::string broadcast_text(Communicator& comm, const std::string& text, int root = 0) {
  std::uint64_t size = text.size();
  comm.broadcast(&size, sizeof size, root);
  std::string out = text;
  out.resize(size);
  if (size > 0) comm.broadcast(out.data(), size, root);
  return out;
}

// One rank alone: every collective is the identity.
std::unique_ptr<Communicator> make_single();

}  // namespace ttt::comm
