// Batches, made ready ahead of the training step by worker threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/collate.h"
#include "data/host_batch.h"
#include "data/order.h"
#include "data/settings.h"
#include "data/shard_set.h"

namespace ttt::data {

struct LoaderStart {
  std::int64_t first_batch = 0;  // resume: the global step
  std::int64_t gt_capacity = 0;  // 0: gt_capacity(set, settings); give the training set's to a loader for evaluation
  Targets targets = {};
  trace::Recorder* trace = nullptr;  // records what each worker does; outlives the loader
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  // of the batches; outlives the loader
  // no record is read, nor announced to the kernel, before the first next(): MLPerf's clock runs by then
  bool hold = false;
};

// The sequence of batches is a function of (set, settings, order, start): equal to the bit for any number of workers.
// Workers share the images of a batch, and run ahead by settings.prefetch batches, not further.
class Loader {
 public:
  // `set` and `order` must outlive it. Throws UsageError where settings contradict each other or the shards.
  Loader(const ShardSet& set, const DataSettings& settings, std::shared_ptr<const BatchOrder> order,
      LoaderStart start = {});
  ~Loader();  // at any time: workers stop after the image at hand
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, or null after the last. It stays valid and untouched until the next call. Throws what a worker
  // threw (of several the batch's first image's), again on every later call.
  const HostBatch* next();
  // Holds the workers after the image at hand, or lets them continue. While they are held, next() has what is ready
  // already. Without workers: nothing.
  void pause(bool on);
  // batches handed out plus first_batch: where a resumed run starts
  std::int64_t position() const { return consumed_; }
  std::int64_t capacity() const { return capacity_; }

 private:
  struct Slot {
    std::unique_ptr<BatchBuilder> builder;
    std::int64_t images = 0;   // of its batch
    std::int64_t pending = 0;  // of these not yet filled
    bool ready = false;
    StageSeconds spent;
    std::vector<std::exception_ptr> errors;  // per image of the largest batch; the last one for the batch as a whole
  };

  void start();
  void work(ImageWorker& worker);
  void stop();
  void fill_one(Slot& slot, std::int64_t batch, std::int64_t image, ImageWorker& worker);
  void begin(std::int64_t batch, Slot& slot);
  void finish_if_last(Slot& slot, std::int64_t batch, const StageSeconds& spent, trace::Lane* lane);
  void announce(std::int64_t batch) const;
  const HostBatch* take(Slot& slot);
  bool past_end(std::int64_t batch) const { return batches_ >= 0 && batch >= batches_; }

  const ShardSet& set_;
  const DataSettings settings_;
  const std::shared_ptr<const BatchOrder> order_;
  const std::int64_t batches_, most_images_;  // of a batch
  std::int64_t capacity_ = 0;
  std::vector<Slot> ring_;  // batch b lies in ring_[b % ring_.size()]
  std::int64_t consumed_;   // by the caller; its slot is free again one call later
  std::exception_ptr failure_;
  std::vector<std::unique_ptr<ImageWorker>> workers_;  // one per thread; one for the caller without threads

  std::mutex mutex_;  // guards what follows and the slots' fields
  std::condition_variable room_, ready_;
  std::int64_t next_batch_, next_image_ = 0;  // the next piece of work
  std::int64_t released_;                     // batches before this one have left the ring
  bool stopping_ = false, paused_ = false;
  bool started_ = false;  // the caller's alone
  std::vector<std::thread> threads_;
};

}  // namespace ttt::data
