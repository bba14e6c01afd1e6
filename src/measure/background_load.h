// Another process that keeps a core busy for part of the time: to see whether a measurement stands it.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ttt::ablations {

// While it lives (and `on`): a shell in an endless loop, two seconds running, three seconds stopped.
class BackgroundLoad {
 public:
  explicit BackgroundLoad(bool on);
  ~BackgroundLoad();
  BackgroundLoad(const BackgroundLoad&) = delete;
  BackgroundLoad& operator=(const BackgroundLoad&) = delete;

 private:
  void alternate();
  void end_process();
  pid_t process_ = 0;
  bool ending_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  std::thread thread_;
};

}  // namespace ttt::ablations
