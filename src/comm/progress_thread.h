// A thread that runs tasks in the order they were given: how collectives make progress beside a computation.
// (Open MPI moves messages only inside MPI calls; it has no progress thread of its own.)
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "comm/communicator.h"

namespace ttt::comm {

//
// Work that is destroyed by an exception on its way out does not wait for peers that may never come. It sets
// `cancelled`, which the running task is expected to watch.
class ProgressThread {
 public:
  explicit ProgressThread(std::shared_ptr<std::atomic<bool>> cancelled);
  ~ProgressThread();  // finishes what was given
  // wait() throws what the task threw. After a task that threw, no other runs: all throw the same.
  std::unique_ptr<Work> start(std::function<void()> task);
  // True when nothing is queued or running. Only the thread that gives tasks may rely on it.
  bool idle() const;

 private:
  struct Task;
  class Pending;
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<std::shared_ptr<Task>> queue_;
  bool busy_ = false, stopping_ = false;
  std::exception_ptr broken_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
  std::thread thread_;
};

}  // namespace ttt::comm
