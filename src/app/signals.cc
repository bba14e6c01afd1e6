#include "app/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "core/error.h"

namespace ttt::harness {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGUSR1};

// A signal handler has no argument of ours, so what it touches must have static storage: the one exception to the rule.
struct HandlerState {
  std::atomic<int> signal{0};
  std::atomic<std::int64_t> first_ns{0};
  std::atomic<int> wake_fd{-1};
  std::atomic<bool> in_use{false};
  struct sigaction previous[kSignals.size()];
};
HandlerState& state() {
  static HandlerState s;
  return s;
}
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);  // async-signal-safe (POSIX.1-2008)
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

extern "C" void ttt_on_signal(int signal) {
  const int saved_errno = errno;
  HandlerState& s = state();
  int none = 0;
  if (s.signal.compare_exchange_strong(none, signal)) {
    s.first_ns.store(monotonic_ns());
    const char byte = 1;
    if (::write(s.wake_fd.load(), &byte, 1) < 0) {
      // The flag is set all the same; only the watchdog does not wake.
    }
  } else if (const std::int64_t first = s.first_ns.load(); first != 0 && monotonic_ns() - first > 500'000'000) {
    ::_exit(128 + signal);
  }
  errno = saved_errno;
}

}  // namespace

SignalWatch::SignalWatch(Unanswered unanswered, double patience_s)
    : unanswered_(std::move(unanswered)), patience_s_(patience_s) {
  HandlerState& s = state();
  if (s.in_use.exchange(true)) throw Error("Two SignalWatch objects at once. This is a bug.");
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    throw Error("Cannot create a pipe for the signal watch. Close some files (ulimit -n).");
  s.signal = 0;
  s.first_ns = 0;
  s.wake_fd = fds[1];
  read_fd_ = fds[0];
  thread_ = std::thread([this] {
    char byte = 0;
    while (::read(read_fd_, &byte, 1) < 0 && errno == EINTR) {}
    if (byte == 1) watch();
  });
  struct sigaction action {};
  action.sa_handler = ttt_on_signal;
  action.sa_flags = SA_RESTART;  // system calls of the run must not fail for it
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &s.previous[i]);
}

SignalWatch::~SignalWatch() {
  HandlerState& s = state();
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &s.previous[i], nullptr);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  const char byte = 0;
  const int fd = s.wake_fd.exchange(-1);
  while (::write(fd, &byte, 1) < 0 && errno == EINTR) {}
  thread_.join();
  ::close(fd);
  ::close(read_fd_);
  s.in_use = false;
}

int SignalWatch::signal() const { return state().signal.load(); }

std::string SignalWatch::name() const {
  switch (signal()) {
    case SIGINT: return "SIGINT";
    case SIGTERM: return "SIGTERM";
    case SIGUSR1: return "SIGUSR1";
    default: return "";
  }
}

void SignalWatch::answered() {
  const std::lock_guard lock(mutex_);  // held by watch() while `unanswered_` runs
  answered_ = true;
  changed_.notify_all();
}

void SignalWatch::watch() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(patience_s_), [this] { return answered_ || stop_; });
  if (!answered_ && !stop_ && unanswered_) unanswered_(name());
}

}  // namespace ttt::harness
