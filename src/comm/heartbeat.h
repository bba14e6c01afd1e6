// Signs of life: every rank learns where every other rank stands, whatever the threads that train are doing.
//
// Gossip: ten times a second each rank sends all that it knows to the ranks 1, 2, 4, 8, ... after it, so news reaches everybody in at most
// log2(ranks) hops, and no rank that dies takes the others' view with it. Ages are taken on the receiver's clock alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ttt::comm {

// Values of Place::stage: the phases of a step (result::Phase) from 0, and these.
inline constexpr std::int32_t kEvaluationStage = 100;
inline constexpr std::int32_t kDeviceStage = 101;  // the host waits for the device: often for a collective in its queue

// Where the thread that takes the steps stands. It writes, the heartbeat reads; what the numbers mean is their owner's.
struct Place {
  std::atomic<std::int64_t> step = 0;
  std::atomic<std::int32_t> stage = 0;
  std::atomic<std::int64_t> count = 0;  // pieces of work done, where a stage has several
};

// What the kernel says of another rank's process, where both are in one process name space.
enum class Process { kUnknown, kRuns, kStopped, kGone };

// What this process knows of a rank.
struct Sign {
  std::int64_t step = 0;
  std::int32_t stage = 0;
  std::string collective;  // in which its thread waits, "" where it does not
  double silent_s = 0;     // since its last sign of life
  double still_s = 0;      // since it was seen at another place, or in another collective
  Process process = Process::kUnknown;  // asked only of a rank that is silent
};

class Heartbeat {
 public:
  virtual ~Heartbeat() = default;  // without stop(): as a failing rank leaves, at once
  // Of every rank, in rank order. From any thread.
  virtual std::vector<Sign> signs() const = 0;
  // Collective, where all is well: ends the messages, so that MPI can be finalised. Waits some seconds for the others.
  virtual void stop() = 0;
  virtual double interval_s() const = 0;
  virtual double cpu_s() const = 0;  // processor time that it has taken in this process
};

}  // namespace ttt::comm
