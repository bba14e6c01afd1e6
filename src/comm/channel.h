// Non-blocking MPI messages between the ranks of one communicator, and the only way in which this code waits for them.
//
// MPI thread level: SERIALIZED. Every MPI call is short (start or test, never wait) and made under one lock per
// process, so several communicators, each with its own thread, need no more than that. The waiting itself happens
// outside MPI and outside the lock.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ttt::comm {

// How a thread spends the time until the next test: it yields the core `yields` times, then sleeps from `first_s`,
// doubling up to `longest_s`. Ranks often outnumber cores, so no thread ever spins without giving way.
struct WaitPolicy {
  int yields = 0;
  double first_s = 0, longest_s = 0;
};
// A caller with nothing else to do: latency counts, until it is clear that a peer is late.
inline constexpr WaitPolicy kForeground{.yields = 2000, .first_s = 20e-6, .longest_s = 200e-6};
// The progress thread beside a computation: cores belong to the computation.
inline constexpr WaitPolicy kBackground{.yields = 2, .first_s = 20e-6, .longest_s = 1e-3};

class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_(policy), sleep_s_(policy.first_s) {}
  void pause();
  void reset() { *this = Backoff(policy_); }

 private:
  WaitPolicy policy_;
  int yielded_ = 0;
  double sleep_s_;
};

// One duplicate of MPI_COMM_WORLD, set to return errors: its ranks, the process's MPI lock, and how long silence is
// tolerated.
struct Channel {
  MPI_Comm comm = MPI_COMM_NULL;
  std::shared_ptr<std::mutex> lock;
  // Set when this rank is failing: whoever waits for messages stops waiting and throws.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  // The collective that a caller of this process is waiting in, null: none. The heartbeat tells the other ranks.
  std::shared_ptr<std::atomic<const char*>> collective = std::make_shared<std::atomic<const char*>>(nullptr);
  double timeout_s = 600;
  int rank = 0, size = 1;
};

// One collective as the errors name it.
struct Call {
  const char* what = "";  // a literal
  std::size_t bytes = 0;
  int tag = 0;  // even; the collective may also use tag + 1
  WaitPolicy policy = kForeground;
};

// Messages in flight. Buffers must outlive wait().
class Messages {
 public:
  Messages(const Channel& channel, const Call& call) : channel_(channel), call_(call) {}
  // Any number of bytes; empty messages are sent too.
  void send(const void* data, std::size_t bytes, int to, int tag);
  void receive(void* data, std::size_t bytes, int from, int tag);
  // Until all are complete. Throws Error when none completes for the channel's limit, or when the channel is cancelled.
  // Also when MPI reports an error; most often the ranks are not in the same collective, and the lengths do not fit.
  // MPI may then still hold the buffers, and the process must make no further MPI call but MPI_Abort.
  void wait();

 private:
  void check(int mpi_status) const;
  [[noreturn]] void give_up() const;

  const Channel& channel_;
  const Call& call_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  // of requests_
};

}  // namespace ttt::comm
