// Who did what when, over a window of steps: spans in buffers that are made before and read after.
//
// A lane is a row of the timeline: a thread, or an activity of which only one is under way at a time. Recording is a
// clock reading at either end and a store: no lock, no allocation, no I/O. Parts hold a `Lane*`, null where nothing is
// recorded: that costs one branch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace ttt::trace {

// The phases of a step first, in the order of result::Phase.
enum class Event : std::uint8_t {
  kDataWait,
  kForward,
  kBackward,
  kCommExposed,
  kOptimizer,
  kOther,
  kStep,         // number: the step
  kEvaluation,   // number: epochs finished
  kAllReduce,    // of gradients; number: the bucket
  kBucketReady,  // a moment: backward has filled the bucket; number: the bucket
  kImage,        // read, decode and transform; number: the batch
  kFinishBatch,  // a batch's masks are packed; number: the batch
  kWaitRoom,     // a loader's worker is as far ahead as it may be
};
inline constexpr std::array<std::string_view, 13> kEventNames = {"data_wait", "forward", "backward", "comm_exposed",
    "optimizer", "other", "step", "evaluation", "all_reduce", "bucket_ready", "image", "finish_batch", "wait_room"};
static_assert(static_cast<std::size_t>(Event::kWaitRoom) + 1 == kEventNames.size());
constexpr std::string_view name_of(Event event) { return kEventNames[static_cast<std::size_t>(event)]; }

struct Span {
  double start_s = 0, end_s = 0;  // now_s()
  std::int64_t bytes = 0;
  std::int32_t number = 0;
  Event event = Event::kOther;
};

// One writer at a time; where the writer changes, the program orders the two anyway. May be read while it is written.
class Lane {
 public:
  Lane(std::string name, const std::atomic<bool>& open) : name_(std::move(name)), open_(open) {}

  // Keeps the span where the window is open now, at its end.
  void add(const Span& span) {
    if (!open_.load(std::memory_order_relaxed)) return;
    const std::size_t n = size_.load(std::memory_order_relaxed);
    if (n == spans_.size()) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    spans_[n] = span;
    size_.store(n + 1, std::memory_order_release);
  }

  const std::string& name() const { return name_; }
  std::span<const Span> spans() const { return {spans_.data(), size_.load(std::memory_order_acquire)}; }
  std::int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // spans that found the buffer full

 private:
  friend class Recorder;
  std::string name_;
  const std::atomic<bool>& open_;
  std::vector<Span> spans_;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<std::int64_t> dropped_ = 0;
};

// A span from here to the end of the block.
class Scope {
 public:
  Scope(Lane* lane, Event event, std::int64_t number = 0, std::int64_t bytes = 0) : lane_(lane) {
    if (lane_)
      span_ = {.start_s = now_s(), .bytes = bytes, .number = static_cast<std::int32_t>(number), .event = event};
  }
  ~Scope() {
    if (!lane_) return;
    span_.end_s = now_s();
    lane_->add(span_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Lane* lane_;
  Span span_;
};

// The lanes of one rank, and the window of steps in which they record.
class Recorder {
 public:
  Recorder(std::int64_t from_step, std::int64_t steps) : from_step_(from_step), steps_(steps) {}

  // The lane of that name, with room for so many spans in a step of the window and kAhead more (and no more than
  // kLargest in all). It lives as long as the recorder. Before the window opens: a lane that exists and holds nothing
  // yet may grow.
  Lane& lane(const std::string& name, std::size_t spans_per_step);

  // By the thread that takes the steps, before each: opens and closes the window.
  void before_step(std::int64_t step) {
    open_.store(step >= from_step_ && step < from_step_ + steps_, std::memory_order_relaxed);
  }
  void close() { open_.store(false, std::memory_order_relaxed); }

  std::int64_t from_step() const { return from_step_; }
  std::int64_t steps() const { return steps_; }
  std::vector<const Lane*> lanes() const;

  // steps' worth of work that may fall into the window beside its own: loaders run ahead
  static constexpr std::int64_t kAhead = 8;
  static constexpr std::size_t kLargest = std::size_t{1} << 18;  // spans of a lane: 8 MiB

 private:
  const std::int64_t from_step_, steps_;
  std::atomic<bool> open_ = false;
  mutable std::mutex mutex_;
  std::deque<Lane> lanes_;  // addresses stay
};

}  // namespace ttt::trace
