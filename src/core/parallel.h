// Threads for loops whose iterations write disjoint outputs, so that any number of threads gives the same bits.
//
// Plain std::thread: a second OpenMP run time beside the one that LibTorch brings would fight with it for the cores.
// Callers hand the pool on explicitly; a null pool means "on the calling thread".
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ttt {

// The cores that this process may use: a launcher may bind it to fewer than the node has. 0: unknown.
inline int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// Their numbers, ascending; empty: unknown.
inline std::vector<int> usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  return found;
}

class ThreadPool {
 public:
  // `threads` counts the caller, who works too: 1 starts no thread.
  explicit ThreadPool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~ThreadPool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& w : workers_) w.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i) for every i in [0, n), each once, in no particular order, and returns when all are done. The first
  // exception is thrown again here; the iterations that had not begun are skipped then. Call it from one thread at a
  // time, and not from inside a body.
  void for_each(std::int64_t n, const std::function<void(std::int64_t)>& body) {
    if (n <= 0) return;
    {
      std::lock_guard lock(mutex_);
      body_ = &body, count_ = n, next_ = 0, error_ = nullptr;
      busy_ = workers_.size();
      ++generation_;
    }
    wake_.notify_all();
    drain();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    body_ = nullptr;
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void drain() {
    for (;;) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count_) return;
      try {
        (*body_)(i);
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        next_ = count_;
      }
    }
  }

  void work() {
    for (std::uint64_t seen = 0;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
        if (stopping_) return;
        seen = generation_;
      }
      drain();
      std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_ = 0;
  std::size_t busy_ = 0;
  std::uint64_t generation_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

// body(i) for i in [0, n): on the pool where there is one, else here in order.
template <class Body> void parallel_for(ThreadPool* pool, std::int64_t n, Body&& body) {
  if (pool == nullptr || pool->threads() == 1 || n < 2) {
    for (std::int64_t i = 0; i < n; ++i) body(i);
  } else {
    pool->for_each(n, body);
  }
}

// body(begin, end) over consecutive ranges of at most `grain` items: for loops that want scratch space per range.
template <class Body> void parallel_ranges(ThreadPool* pool, std::int64_t n, std::int64_t grain, Body&& body) {
  const std::int64_t ranges = (n + grain - 1) / grain;
  parallel_for(pool, ranges, [&](std::int64_t r) { body(r * grain, std::min(n, (r + 1) * grain)); });
}

}  // namespace ttt
