// SIGINT, SIGTERM and SIGUSR1 as a request that the run polls once per step, with a watchdog for a run that cannot
// poll.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ttt::harness {

// One at a time in a process; its life is the time in which the signals are handled. The first signal sets the request.
// A further one later than 0.5 s ends the process at once (exit code 128 + signal). Sooner it is taken for an echo,
// since launchers signal both the process group and each rank.
//
// A rank that waits in a collective for a rank that died never polls, and the launcher kills it a second later. So
// after `patience_s` without answered(), `unanswered` runs on the watch's own thread, to write what is known. It must
// not throw.
class SignalWatch {
 public:
  using Unanswered = std::function<void(const std::string& signal_name)>;
  explicit SignalWatch(Unanswered unanswered = {}, double patience_s = 0.4);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  bool requested() const { return signal() != 0; }
  int signal() const;        // 0, SIGINT, SIGTERM or SIGUSR1
  std::string name() const;  // "SIGTERM"; "" before
  // The run has seen the request and will end by itself: the watchdog stays quiet. Waits for one that is at work.
  void answered();

 private:
  void watch();

  Unanswered unanswered_;
  double patience_s_;
  int read_fd_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool answered_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace ttt::harness
