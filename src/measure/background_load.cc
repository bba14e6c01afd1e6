#include "measure/background_load.h"

#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>

#include "core/error.h"

extern char** environ;

namespace ttt::ablations {

BackgroundLoad::BackgroundLoad(bool on) {
  if (!on) return;
  // not for longer than this program
  char shell[] = "sh", flag[] = "-c", loop[] = "while kill -0 $PPID 2>/dev/null; do :; done";
  char* arguments[] = {shell, flag, loop, nullptr};
  if (::posix_spawn(&process_, "/bin/sh", nullptr, nullptr, arguments, environ) != 0)
    throw Error("The process that is to load the machine could not be started. Allow one more process.");
  try {
    thread_ = std::thread([this] { alternate(); });
  } catch (...) {
    end_process();
    throw;
  }
}

BackgroundLoad::~BackgroundLoad() {
  if (process_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_.notify_all();
  thread_.join();
  end_process();
}

void BackgroundLoad::end_process() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void BackgroundLoad::alternate() {
  std::unique_lock lock(mutex_);
  for (bool running = true; !end_.wait_for(lock, std::chrono::seconds(running ? 2 : 3), [this] { return ending_; });
       running = !running)
    ::kill(process_, running ? SIGSTOP : SIGCONT);
}

}  // namespace ttt::ablations
