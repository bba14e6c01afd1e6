#include "measure/own_thread.h"

#include <c10/core/AutogradState.h>

namespace ttt::ablations {

WorkThread::~WorkThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WorkThread::hand_over(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  changed_.notify_one();
}

void WorkThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || work_; });
    if (!work_) return;
    const std::function<void()> work = std::exchange(work_, nullptr);
    lock.unlock();
    work();
    lock.lock();
  }
}

OwnThreadArm::OwnThreadArm(const std::function<std::unique_ptr<Arm>()>& make) {
  thread_.run([&] {
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
    inner_ = make();
  });
}

OwnThreadArm::~OwnThreadArm() {
  thread_.run([this] { inner_.reset(); });
}

std::vector<double> OwnThreadArm::block(int steps) {
  return thread_.run([&] { return inner_->block(steps); });
}

result::Json OwnThreadArm::describe() const {
  return thread_.run([this] { return inner_->describe(); });
}

void OwnThreadArm::start_counting() {
  thread_.run([this] { inner_->start_counting(); });
}

Counters OwnThreadArm::usage() {
  return thread_.run([this] { return inner_->usage(); });
}

Counters OwnThreadArm::operators(int steps) {
  return thread_.run([&] { return inner_->operators(steps); });
}

}  // namespace ttt::ablations
