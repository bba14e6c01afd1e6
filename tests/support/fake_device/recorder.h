// The fake device's captured work and its memory blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
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

  std::int64_t begin() {  // returns the capture's number
    const std::lock_guard lock(mutex_);
    before_.clear();
    for (emulation::DeviceBytes* b : live_)
      before_.emplace_back(b, std::vector<unsigned char>(b->data(), b->data() + b->size()));
    active_ = true;
    emulation::set_sink([this](emulation::Again again) { add(std::move(again)); });
    return ++captures_;
  }
  // CUDA's captures share their memory: what one has given back, later ones take. Where an earlier one is replayed, its
  // workspace is written, so whatever later ones have left may be lost.
  void spoil_after(std::int64_t capture) {
    const std::lock_guard lock(mutex_);
    for (const auto& [block, number] : captured_)
      if (number > capture) std::memset(block->data(), 0xFF, block->size());
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
    if (active_) captured_[block] = captures_;
  }
  void released(emulation::DeviceBytes* block) {
    const std::lock_guard lock(mutex_);
    if (active_) return kept_.push_back(std::unique_ptr<emulation::DeviceBytes>(block));  // stays live
    live_.erase(block), captured_.erase(block);
    delete block;
  }
  void dropped(const Blocks& blocks) {
    const std::lock_guard lock(mutex_);
    for (const auto& b : blocks) live_.erase(b.get()), captured_.erase(b.get());
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> active_ = false;
  std::set<emulation::DeviceBytes*> live_;
  std::int64_t captures_ = 0;
  std::map<emulation::DeviceBytes*, std::int64_t> captured_;  // live ones that a capture took, and its number
  std::vector<std::pair<emulation::DeviceBytes*, std::vector<unsigned char>>> before_;
  std::vector<emulation::Again> work_;
  Blocks kept_;
};
inline Recorder& recorder() {
  static auto& all = *new Recorder;  // tensors of other statics may go later
  return all;
}

}  // namespace ttt::test
