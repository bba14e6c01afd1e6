// The fake device's captured work and its memory blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/emulator/emulator.h"
#include "tests/support/emulator/shadow.h"

namespace ttt::test {

// Operations come from the thread that captures and from autograd's.
class Recorder {
 public:
  using Blocks = std::vector<std::unique_ptr<emulation::DeviceBytes>>;
  bool active() const { return active_; }

  void begin() {
    const std::lock_guard lock(mutex_);
    before_.clear();
    for (emulation::DeviceBytes* b : live_)
      before_.emplace_back(b, std::vector<unsigned char>(b->data(), b->data() + b->size()));
    active_ = true;
    emulation::set_sink([this](emulation::Again again) { add(std::move(again)); });
  }
  // Memory is again as it was at begin(). What the work gave back meanwhile is the graph's.
  void end(std::vector<emulation::Again>& work, Blocks& kept) {
    emulation::set_sink({});
    const std::lock_guard lock(mutex_);
    active_ = false;
    for (const auto& [block, bytes] : before_) std::copy(bytes.begin(), bytes.end(), block->data());
    before_.clear();
    work = std::exchange(work_, {});
    kept = std::exchange(kept_, {});
  }
  void add(emulation::Again again) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(again));
  }
  void born(emulation::DeviceBytes* block) {
    const std::lock_guard lock(mutex_);
    live_.insert(block);
  }
  void released(emulation::DeviceBytes* block) {
    const std::lock_guard lock(mutex_);
    if (active_) return kept_.push_back(std::unique_ptr<emulation::DeviceBytes>(block));  // stays live
    live_.erase(block);
    delete block;
  }
  void dropped(const Blocks& blocks) {
    const std::lock_guard lock(mutex_);
    for (const auto& b : blocks) live_.erase(b.get());
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> active_ = false;
  std::set<emulation::DeviceBytes*> live_;
  std::vector<std::pair<emulation::DeviceBytes*, std::vector<unsigned char>>> before_;
  std::vector<emulation::Again> work_;
  Blocks kept_;
};
inline Recorder& recorder() {
  static auto& all = *new Recorder;  // tensors of other statics may go later
  return all;
}

}  // namespace ttt::test
