#include "comm/progress_thread.h"

#include <sys/prctl.h>

#include <exception>
#include <utility>

namespace ttt::comm {

struct ProgressThread::Task {
  std::function<void()> run;
  bool done = false;
  std::exception_ptr error;
};

class ProgressThread::Pending final : public Work {
 public:
  Pending(ProgressThread& thread, std::shared_ptr<Task> task) : thread_(thread), task_(std::move(task)) {}
  ~Pending() override {
    if (std::uncaught_exceptions() > 0) *thread_.cancelled_ = true;
    block();
  }
  void wait() override {
    block();
    if (task_->error) std::rethrow_exception(task_->error);
  }

 private:
  void block() {
    std::unique_lock lock(thread_.mutex_);
    thread_.done_.wait(lock, [this] { return task_->done; });
  }

  ProgressThread& thread_;
  std::shared_ptr<Task> task_;
};

ProgressThread::ProgressThread(std::shared_ptr<std::atomic<bool>> cancelled)
    : cancelled_(std::move(cancelled)), thread_([this] { run(); }) {}

ProgressThread::~ProgressThread() {
  if (std::uncaught_exceptions() > 0) *cancelled_ = true;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::unique_ptr<Work> ProgressThread::start(std::function<void()> task) {
  auto shared = std::make_shared<Task>(Task{.run = std::move(task)});
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(shared);
  }
  wake_.notify_one();
  return std::make_unique<Pending>(*this, std::move(shared));
}

bool ProgressThread::idle() const {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

void ProgressThread::run() {
  // Linux rounds short sleeps up by 50 us unless told otherwise; between two tests of a message that is a long time.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::shared_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error = broken_;
    if (!error) {
      try {
        task->run();
      } catch (...) { error = std::current_exception(); }
    }
    lock.lock();
    busy_ = false;
    broken_ = task->error = error;
    task->done = true;
    done_.notify_all();
  }
}

}  // namespace ttt::comm
