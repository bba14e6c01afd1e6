// Which images a rank's batch holds: pure functions of (seed, position), so that a run resumes anywhere, on any number
// of ranks, and any worker can compute any batch.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/epochs.h"
#include "data/settings.h"
#include "data/shard_set.h"

namespace ttt::data {

// A permutation of [0, n) in O(1) memory. A Feistel network on the next even number of bits, walked along its cycle
// until it falls below n (Black and Rogaway 2002). At most 4 expected evaluations per call.
class Permutation {
 public:
  Permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch);
  std::int64_t operator()(std::int64_t i) const;

 private:
  std::uint64_t encrypt(std::uint64_t x) const;
  std::uint64_t n_, half_bits_;
  std::uint64_t key_[6];
};

struct Sample {
  std::int64_t image = -1;  // index into the ShardSet; -1: nothing (a short last batch in evaluation)
  bool flip = false;
};

// One rank's share of one global batch.
struct BatchPlan {
  std::int64_t batch = 0;  // position in the order: the global step in training
  std::int64_t epoch = 0;
  std::int64_t short_side = 0;  // of its images after the resize, in place of the settings'; 0: as they are
  std::vector<Sample> samples;
};

class BatchOrder {
 public:
  virtual ~BatchOrder() = default;
  virtual std::int64_t batches() const = 0;            // in the whole order; -1: endless
  virtual std::int64_t most_per_rank() const = 0;      // images in a plan
  virtual BatchPlan at(std::int64_t batch) const = 0;  // from any thread
};

// From an epoch on: images of another size, batches of another number of images. 0: as without phases.
struct OrderPhase {
  double first_epoch = 0;
  std::int64_t short_side = 0, global_batch = 0;
};

struct OrderSettings {
  std::uint64_t seed = 0;
  std::int64_t global_batch = 1;  // B, a multiple of ranks
  int rank = 0, ranks = 1;
  // In order, the first from 0 on. A batch changes at whole epochs alone.
  std::vector<OrderPhase> phases = {};
};

// Training uses another permutation in every epoch. Batch s of an epoch holds its global samples [s * B, (s + 1) * B).
// Rank r takes n = B / ranks of them, from r * n on. With group_by_aspect, batches form in the order in which
// a group's B-th image comes up in the permutation. last_batch: left-over images are dropped, or the batch is filled
// from the beginning of its group in the same epoch. A flip is a function of (seed, epoch, image id).
class TrainOrder : public BatchOrder {
 public:
  // Throws UsageError where B of a phase is no multiple of the ranks or not one batch can be filled.
  TrainOrder(const ShardSet& set, const DataSettings& data, const OrderSettings& order);
  std::int64_t batches() const override { return -1; }
  std::int64_t most_per_rank() const override;
  BatchPlan at(std::int64_t step) const override;
  const Epochs& epochs() const { return epochs_; }

 private:
  std::int64_t batch_of(std::int64_t epoch) const;  // B
  std::vector<std::int64_t> global_batch(std::int64_t epoch, std::int64_t batch) const;
  std::shared_ptr<const std::vector<std::int64_t>> grouped_epoch(std::int64_t epoch) const;

  std::int64_t images_;
  Epochs epochs_;
  bool wrap_;
  double flip_;
  OrderSettings order_;
  std::vector<std::int64_t> id_;
  std::vector<std::uint8_t> group_;  // empty: one group
  // Grouping needs the whole epoch's order (117,000 images: some milliseconds); the last two epochs are kept.
  mutable std::mutex mutex_;
  mutable std::int64_t kept_epoch_[2] = {-1, -1};
  mutable std::shared_ptr<const std::vector<std::int64_t>> kept_[2];
};

// Evaluation: every image exactly once over all ranks, in the set's order, never flipped. Where batches have two sizes
// (DataSettings::padding), the landscape images come first: a batch of both kinds would be padded to a square, with 1.7
// times the pixels. All ranks have the same number of batches; the last of a kind is filled up with samples of image
// -1.
class EvalOrder : public BatchOrder {
 public:
  EvalOrder(const ShardSet& set, const DataSettings& data, const OrderSettings& order);
  std::int64_t batches() const override { return std::ssize(images_) / order_.global_batch; }
  std::int64_t most_per_rank() const override { return order_.global_batch / order_.ranks; }
  BatchPlan at(std::int64_t batch) const override;

 private:
  std::vector<std::int64_t> images_;  // whole batches
  OrderSettings order_;
};

}  // namespace ttt::data
