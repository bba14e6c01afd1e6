#include "data/order.h"

#include <algorithm>
#include <bit>
#include <cmath>

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

namespace {

bool is_portrait(const ImageInfo& info) { return info.height >= info.width; }

void check_shares(std::int64_t batch, int ranks) {
  if (batch < 1 || batch % ranks != 0)
    throw UsageError("The global batch of " + std::to_string(batch) + " images cannot be shared by " +
                     std::to_string(ranks) + " ranks: make it a multiple of the ranks.");
}

}  // namespace

TrainOrder::TrainOrder(const ShardSet& set, const DataSettings& data, const OrderSettings& order)
    : images_(set.size()), wrap_(data.last_batch == "wrap"), flip_(data.flip), order_(order) {
  if (order_.phases.empty()) order_.phases.emplace_back();
  std::int64_t sizes[2] = {0, 0};
  for (std::int64_t i = 0; i < images_; ++i) {
    const ImageInfo info = set.image(i);
    id_.push_back(info.id);
    if (data.group_by_aspect) group_.push_back(is_portrait(info));
    ++sizes[data.group_by_aspect && is_portrait(info)];
  }
  std::vector<Epochs::Phase> phases;
  std::int64_t before = 0;
  for (OrderPhase& phase : order_.phases) {
    if (phase.global_batch == 0) phase.global_batch = order_.global_batch;
    const std::int64_t B = phase.global_batch;
    check_shares(B, order_.ranks);
    std::int64_t steps = 0;
    for (const std::int64_t size : sizes) steps += wrap_ ? (size + B - 1) / B : size / B;
    if (steps == 0)
      throw UsageError("The " + std::to_string(images_) + " images of split '" + set.split() +
                       "' do not fill one global batch of " + std::to_string(B) +
                       ": make the batch smaller or set last_batch = \"wrap\".");
    if (B != before) phases.push_back({std::llround(phase.first_epoch), steps});
    before = B;
  }
  epochs_ = Epochs(phases);
}

std::int64_t TrainOrder::most_per_rank() const {
  std::int64_t most = 0;
  for (const OrderPhase& phase : order_.phases) most = std::max(most, phase.global_batch / order_.ranks);
  return most;
}

std::int64_t TrainOrder::batch_of(std::int64_t epoch) const {
  std::int64_t batch = 0;
  for (const OrderPhase& phase : order_.phases)
    if (static_cast<double>(epoch) >= phase.first_epoch) batch = phase.global_batch;
  return batch;
}

BatchPlan TrainOrder::at(std::int64_t step) const {
  BatchPlan plan{.batch = step, .epoch = epochs_.epoch_of(step)};
  for (const OrderPhase& phase : order_.phases)
    if (step >= epochs_.steps(phase.first_epoch)) plan.short_side = phase.short_side;
  const std::vector<std::int64_t> all = global_batch(plan.epoch, step - epochs_.steps_before(plan.epoch));
  const std::int64_t n = std::ssize(all) / order_.ranks;
  for (std::int64_t k = order_.rank * n; k < (order_.rank + 1) * n; ++k) {
    const std::uint64_t draw = random_bits(
        order_.seed, Purpose::kFlip, static_cast<std::uint64_t>(plan.epoch), static_cast<std::uint64_t>(id_[all[k]]));
    plan.samples.push_back({.image = all[k], .flip = unit_double(draw) < flip_});
  }
  return plan;
}

std::vector<std::int64_t> TrainOrder::global_batch(std::int64_t epoch, std::int64_t batch) const {
  const std::int64_t B = batch_of(epoch);
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
  const std::int64_t B = batch_of(epoch);
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

EvalOrder::EvalOrder(const ShardSet& set, const DataSettings& data, const OrderSettings& order) : order_(order) {
  check_shares(order.global_batch, order.ranks);
  const auto append = [&](const auto& belongs) {
    for (std::int64_t i = 0; i < set.size(); ++i)
      if (belongs(set.image(i))) images_.push_back(i);
    while (std::ssize(images_) % order.global_batch != 0) images_.push_back(-1);
  };
  if (data.padding == "two") {
    append([](const ImageInfo& info) { return !is_portrait(info); });
    append([](const ImageInfo& info) { return is_portrait(info); });
  } else {
    append([](const ImageInfo&) { return true; });
  }
}

BatchPlan EvalOrder::at(std::int64_t batch) const {
  BatchPlan plan{.batch = batch};
  const std::int64_t n = most_per_rank();
  for (std::int64_t k = 0; k < n; ++k)
    plan.samples.push_back(
        {.image = images_[static_cast<std::size_t>(batch * order_.global_batch + order_.rank * n + k)]});
  return plan;
}

}  // namespace ttt::data
