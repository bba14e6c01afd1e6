#include "data/loader.h"

#include "core/error.h"

namespace ttt::data {
namespace {

// Images that the kernel is told of before they are read: 32 ahead reached a disk's full rate in measurement.
constexpr std::int64_t kAnnounceAhead = 32;

}  // namespace

Loader::Loader(
    const ShardSet& set, const DataSettings& settings, std::shared_ptr<const BatchOrder> order, LoaderStart start)
    : set_(set), settings_(settings), order_(std::move(order)), batches_(order_->batches()),
      most_images_(order_->most_per_rank()), consumed_(start.first_batch), next_batch_(start.first_batch),
      released_(start.first_batch) {
  check(settings_);
  capacity_ = start.gt_capacity != 0 ? start.gt_capacity : gt_capacity(set, settings_);
  ring_.resize(settings_.workers == 0 ? 1 : static_cast<std::size_t>(settings_.prefetch) + 1);
  for (Slot& slot : ring_)
    slot.builder =
        std::make_unique<BatchBuilder>(set_, settings_, most_images_, capacity_, start.targets, start.memory);
  if (settings_.workers == 0) workers_.push_back(std::make_unique<ImageWorker>(settings_));
  for (std::int64_t t = 0; t < settings_.workers; ++t) workers_.push_back(std::make_unique<ImageWorker>(settings_));
  // One worker may do all images of a step, and of the batches ahead; each may be followed by a wait.
  for (std::size_t t = 0; start.trace && t < workers_.size(); ++t)
    workers_[t]->lane =
        &start.trace->lane("loader worker " + std::to_string(t), 2 * static_cast<std::size_t>(most_images_) + 2);
  if (!start.hold) this->start();
}

void Loader::start() {
  started_ = true;
  for (std::int64_t b = 0; b * most_images_ < kAnnounceAhead; ++b) announce(next_batch_ + b);
  try {
    for (std::int64_t t = 0; t < settings_.workers; ++t) threads_.emplace_back([this, t] { work(*workers_[t]); });
  } catch (...) {
    stop();
    throw;
  }
}

Loader::~Loader() { stop(); }

void Loader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Loader::announce(std::int64_t batch) const {
  if (past_end(batch)) return;
  for (const Sample& s : order_->at(batch).samples)
    if (s.image >= 0) set_.will_need(s.image);
}

// Runs in the thread that takes a batch's first image, under the lock: the others wait until the size is known.
void Loader::begin(std::int64_t batch, Slot& slot) {
  slot.images = slot.pending = 1, slot.ready = false, slot.spent = {};
  slot.errors.assign(static_cast<std::size_t>(most_images_) + 1, nullptr);
  announce(batch + (kAnnounceAhead + most_images_ - 1) / most_images_);
  try {
    const BatchPlan plan = order_->at(batch);
    slot.builder->begin(plan);
    slot.images = slot.pending = std::ssize(plan.samples);
  } catch (...) { slot.errors[most_images_] = std::current_exception(); }
}

void Loader::fill_one(Slot& slot, std::int64_t batch, std::int64_t image, ImageWorker& worker) {
  StageSeconds spent;
  if (slot.errors[most_images_] == nullptr) {
    try {
      const trace::Scope span(worker.lane, trace::Event::kImage, batch);
      spent = slot.builder->fill(image, worker);
    } catch (...) { slot.errors[image] = std::current_exception(); }
  }
  finish_if_last(slot, batch, spent, worker.lane);
}

void Loader::finish_if_last(Slot& slot, std::int64_t batch, const StageSeconds& spent, trace::Lane* lane) {
  {
    const std::lock_guard lock(mutex_);
    slot.spent = {
        slot.spent.read + spent.read, slot.spent.decode + spent.decode, slot.spent.transform + spent.transform};
    if (--slot.pending > 0) return;
  }
  // Last image: nobody else touches the slot until it is ready.
  bool failed = false;
  for (const std::exception_ptr& e : slot.errors) failed |= e != nullptr;
  try {
    const trace::Scope span(lane, trace::Event::kFinishBatch, batch);
    if (!failed) slot.builder->finish(slot.spent);
  } catch (...) { slot.errors[most_images_] = std::current_exception(); }
  {
    const std::lock_guard lock(mutex_);
    slot.ready = true;
  }
  ready_.notify_one();
}

void Loader::work(ImageWorker& worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto ring = static_cast<std::int64_t>(ring_.size());
    const auto may_go_on = [&] {
      return stopping_ || past_end(next_batch_) || (!paused_ && next_batch_ < released_ + ring);
    };
    if (!may_go_on()) {
      const trace::Scope span(worker.lane, trace::Event::kWaitRoom);
      room_.wait(lock, may_go_on);
    }
    if (stopping_ || past_end(next_batch_)) return;
    Slot& slot = ring_[next_batch_ % ring];
    if (next_image_ == 0) begin(next_batch_, slot);
    const std::int64_t batch = next_batch_, image = next_image_++;
    if (next_image_ == slot.images) next_image_ = 0, ++next_batch_;
    lock.unlock();
    fill_one(slot, batch, image, worker);
    lock.lock();
  }
}

void Loader::pause(bool on) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = on;
  }
  room_.notify_all();
}

const HostBatch* Loader::take(Slot& slot) {
  for (const std::exception_ptr& e : slot.errors) {
    if (e == nullptr) continue;
    failure_ = e;
    std::rethrow_exception(e);
  }
  ++consumed_;
  return &slot.builder->batch();
}

const HostBatch* Loader::next() {
  if (failure_) std::rethrow_exception(failure_);
  if (past_end(consumed_)) return nullptr;
  if (!started_) start();
  Slot& slot = ring_[consumed_ % static_cast<std::int64_t>(ring_.size())];
  if (threads_.empty()) {
    begin(consumed_, slot);
    for (std::int64_t k = 0; k < slot.images; ++k) fill_one(slot, consumed_, k, *workers_[0]);
    return take(slot);
  }
  {
    std::unique_lock lock(mutex_);
    released_ = consumed_;  // the batch handed out before this call is given back
    room_.notify_all();
    ready_.wait(lock, [&] { return slot.ready; });
    slot.ready = false;
  }
  return take(slot);
}

}  // namespace ttt::data
