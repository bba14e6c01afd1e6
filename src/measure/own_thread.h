// A side on a thread of its own, for what LibTorch keeps by thread. The plan that it chose for a convolution of one
// shape, whichever setting it was chosen under. It asks whether to time its choices (at::Context::benchmarkCuDNN) only
// where it has no plan (ATen/native/cudnn/Conv_v8.cpp, run_single_conv), so that on one thread both sides would run
// what the first had chosen.
#pragma once

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "measure/ablation.h"

namespace ttt::ablations {

// A thread whose caller waits for what it does.
class WorkThread {
 public:
  WorkThread() : thread_([this] { loop(); }) {}
  ~WorkThread();
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  // What `work` returns; what it throws is thrown here.
  template <class Work> auto run(Work&& work) -> decltype(work()) {
    // Shared: the thread may still be within it when the result is here.
    const auto task = std::make_shared<std::packaged_task<decltype(work())()>>(std::forward<Work>(work));
    auto result = task->get_future();
    hand_over([task] { (*task)(); });
    return result.get();
  }

 private:
  void loop();
  void hand_over(std::function<void()> work);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool ending_ = false;
  std::thread thread_;  // last: it begins when the others are made
};

class OwnThreadArm final : public Arm {
 public:
  // `make` is called on the thread, as everything of the side it makes is. Its backward passes stay there, which have
  // threads of their own otherwise.
  explicit OwnThreadArm(const std::function<std::unique_ptr<Arm>()>& make);
  ~OwnThreadArm() override;

  std::vector<double> block(int steps) override;
  const std::vector<harness::PhaseTimes>& phases() const override { return inner_->phases(); }
  result::Json describe() const override;
  const std::vector<double>& outputs() const override { return inner_->outputs(); }
  std::string place_of(std::size_t output) const override { return inner_->place_of(output); }
  comm::Communicator& control() override { return inner_->control(); }
  void start_counting() override;
  Counters usage() override;
  Counters operators(int steps) override;

 private:
  mutable WorkThread thread_;
  std::unique_ptr<Arm> inner_;
};

}  // namespace ttt::ablations
