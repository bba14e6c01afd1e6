#include "data/order.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "core/rng.h"

namespace ttt::data {

Permutation::Permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch) : n_(static_cast<std::uint64_t>(n)) {
  half_bits_ = std::max<std::uint64_t>(1, (std::bit_width(n_ - 1) + 1) / 2);
  for (std::uint64_t round = 0; round < 6; ++round) key_[round] = random_bits(seed, Purpose::kOrder, epoch, round);
}

std::uint64_t Permutation::encrypt(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_, right = x & mask;
  for (const std::uint64_t key : key_) {
    const std::uint64_t next = left ^ (mix64(key ^ right) & mask);
    left = right, right = next;
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator()(std::int64_t i) const {
  auto x = static_cast<std::uint64_t>(i);
  do x = encrypt(x);
  while (x >= n_);
  return static_cast<std::int64_t>(x);
}

TrainOrder::TrainOrder(const ShardSet& set, const DataSettings& data, const OrderSettings& order)
    : images_(set.size()), wrap_(data.last_batch == "wrap"), flip_(data.flip), order_(order) {
  const std::int64_t B = order.global_batch;
  if (B < 1 || B % order.ranks != 0)
    throw UsageError("The global batch of " + std::to_string(B) + " images cannot be shared by " +
                     std::to_string(order.ranks) + " ranks: make it a multiple of the ranks.");
  std::int64_t sizes[2] = {0, 0};
  for (std::int64_t i = 0; i < images_; ++i) {
    const ImageInfo info = set.image(i);
    id_.push_back(info.id);
    if (data.group_by_aspect) group_.push_back(info.height >= info.width);
    ++sizes[data.group_by_aspect && info.height >= info.width];
  }
  for (const std::int64_t size : sizes) steps_per_epoch_ += wrap_ ? (size + B - 1) / B : size / B;
  if (steps_per_epoch_ == 0)
    throw UsageError("The " + std::to_string(images_) + " images of split '" + set.split() +
                     "' do not fill one global batch of " + std::to_string(B) +
                     ": make the batch smaller or set last_batch = \"wrap\".");
}

BatchPlan TrainOrder::at(std::int64_t step) const {
  BatchPlan plan{.batch = step, .epoch = step / steps_per_epoch_};
  for (const SizePhase& phase : order_.sizes)
    if (step >= phase.first_step) plan.short_side = phase.short_side;
  const std::vector<std::int64_t> all = global_batch(plan.epoch, step % steps_per_epoch_);
  for (std::int64_t k = order_.rank * per_rank(); k < (order_.rank + 1) * per_rank(); ++k) {
    const std::uint64_t draw = random_bits(
        order_.seed, Purpose::kFlip, static_cast<std::uint64_t>(plan.epoch), static_cast<std::uint64_t>(id_[all[k]]));
    plan.samples.push_back({.image = all[k], .flip = unit_double(draw) < flip_});
  }
  return plan;
}

std::vector<std::int64_t> TrainOrder::global_batch(std::int64_t epoch, std::int64_t batch) const {
  const std::int64_t B = order_.global_batch;
  std::vector<std::int64_t> images(static_cast<std::size_t>(B));
  if (group_.empty()) {
    const Permutation permutation(images_, order_.seed, static_cast<std::uint64_t>(epoch));
    for (std::int64_t k = 0; k < B; ++k) images[k] = permutation((batch * B + k) % images_);
  } else {
    const auto epoch_images = grouped_epoch(epoch);
    std::copy_n(epoch_images->begin() + batch * B, B, images.begin());
  }
  return images;
}

std::shared_ptr<const std::vector<std::int64_t>> TrainOrder::grouped_epoch(std::int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (kept_epoch_[epoch % 2] == epoch) return kept_[epoch % 2];
  const std::int64_t B = order_.global_batch;
  const Permutation permutation(images_, order_.seed, static_cast<std::uint64_t>(epoch));
  auto order = std::make_shared<std::vector<std::int64_t>>();
  std::vector<std::int64_t> members[2];
  std::int64_t emitted[2] = {0, 0};
  const auto emit = [&](int group) {
    for (std::int64_t k = 0; k < B; ++k)
      order->push_back(members[group][emitted[group]++ % static_cast<std::int64_t>(members[group].size())]);
  };
  for (std::int64_t i = 0; i < images_; ++i) {
    const std::int64_t image = permutation(i);
    const int group = group_[image];
    members[group].push_back(image);
    if (static_cast<std::int64_t>(members[group].size()) % B == 0) emit(group);
  }
  for (const int group : {0, 1})
    if (wrap_ && emitted[group] < static_cast<std::int64_t>(members[group].size())) emit(group);
  kept_epoch_[epoch % 2] = epoch;
  return kept_[epoch % 2] = order;
}

EvalOrder::EvalOrder(const ShardSet& set, const OrderSettings& order) : images_(set.size()), order_(order) {
  if (order.global_batch < 1 || order.global_batch % order.ranks != 0)
    throw UsageError("The global batch of " + std::to_string(order.global_batch) + " images cannot be shared by " +
                     std::to_string(order.ranks) + " ranks: make it a multiple of the ranks.");
  batches_ = (images_ + order.global_batch - 1) / order.global_batch;
}

BatchPlan EvalOrder::at(std::int64_t batch) const {
  BatchPlan plan{.batch = batch};
  for (std::int64_t k = 0; k < per_rank(); ++k) {
    const std::int64_t i = batch * order_.global_batch + order_.rank * per_rank() + k;
    plan.samples.push_back({.image = i < images_ ? i : -1});
  }
  return plan;
}

}  // namespace ttt::data
