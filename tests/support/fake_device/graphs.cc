// Graphs of the fake device: the recorder's work, done again at each replay.
#include "cuda/graphs.h"

#include <ATen/core/grad_mode.h>

#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_device/fake_device.h"
#include "tests/support/fake_device/recorder.h"
#include "tests/support/fake_device/streams.h"

namespace ttt::test {
namespace {

class GraphDouble final : public cuda::Graph {
 public:
  explicit GraphDouble(const std::function<void()>& work) {
    number_ = recorder().begin();
    try {
      work();
    } catch (...) {
      std::vector<emulation::Again> unfinished;
      recorder().end(unfinished, kept_);
      recorder().dropped(kept_);
      throw;
    }
    recorder().end(work_, kept_);
  }
  ~GraphDouble() override {
    work_.clear();  // and with it the tensors that it holds
    recorder().dropped(kept_);
  }
  void replay() override {
    const at::NoGradGuard no_grad;
    work_comes();
    recorder().spoil_after(number_);
    for (const emulation::Again& again : work_) again();
  }
  cuda::GraphSize size() const override {
    cuda::GraphSize s{.nodes = std::ssize(work_)};
    for (const auto& b : kept_) s.bytes += static_cast<std::int64_t>(b->size());
    return s;
  }

 private:
  std::int64_t number_ = 0;
  std::vector<emulation::Again> work_;
  Recorder::Blocks kept_;
};

class GraphsDouble final : public cuda::GraphDevice {
 public:
  std::unique_ptr<cuda::Graph> capture(const std::function<void()>& work) override {
    try {
      return std::make_unique<GraphDouble>(work);
    } catch (const std::exception& e) {
      const std::string what = e.what();
      throw cuda::NotCapturable(what.substr(0, what.find('\n')));
    }
  }
};

}  // namespace

cuda::GraphDevice& fake_graphs() {
  static GraphsDouble all;
  return all;
}

}  // namespace ttt::test
