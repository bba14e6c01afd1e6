// Run by ctest with 1, 2, 3, 4 and 8 ranks. Expected values are closed forms that every rank computes for itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "comm/clock_offset.h"
#include "core/clock.h"
#include "core/rng.h"
#include "tests/support/mpi_main.h"

namespace ttt::comm {
namespace {

// Lengths around every branch: empty, and fewer elements than ranks. Both sides of the small-message limit (32 KiB
// over all ranks), and ragged slices. One segment (256 KiB per rank), just over one, and several.
std::vector<std::size_t> lengths(int ranks) {
  const std::size_t small = 8192 / ranks, segment = 65536 * ranks;
  return {0, 1, 2, 5, 7, 97, small - 1, small, small + 1, 8193, segment - 1, segment, segment + 1, 2 * segment + 12345};
}

// Value of rank r at i: full mantissas over many magnitudes, so that the order of a sum shows in its bits.
float value(std::uint64_t key, int r, std::size_t i) {
  const std::uint64_t bits = random_bits(key, Purpose::kTest, r, i);
  return std::ldexp(unit_float(bits) - 0.5f, static_cast<int>(bits & 15));
}

std::vector<float> values(std::uint64_t key, int r, std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = value(key, r, i);
  return x;
}

// ((x0 + x1) + x2) + ..., added here one by one.
std::vector<float> ordered_sum(std::uint64_t key, int ranks, std::size_t n) {
  std::vector<float> sum = values(key, 0, n);
  for (int r = 1; r < ranks; ++r)
    for (std::size_t i = 0; i < n; ++i) sum[i] += value(key, r, i);
  return sum;
}

template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

class Comm : public testing::Test {
 protected:
  std::unique_ptr<Communicator> comm_ = test_world().communicator();
  int rank_ = comm_->rank(), size_ = comm_->size();
};

TEST_F(Comm, SaysWhoItIs) {
  EXPECT_EQ(comm_->name(), size_ == 1 ? "single" : "mpi");
  EXPECT_EQ(rank_, test_world().rank());
  EXPECT_EQ(test_world().nodes(), 1);
  EXPECT_EQ(test_world().node(), 0);
  EXPECT_EQ(test_world().local_rank(), rank_);
  EXPECT_EQ(test_world().local_size(), size_);
}

TEST_F(Comm, SumOfIntegersIsExact) {
  for (std::size_t n : lengths(size_)) {
    std::vector<float> x(n);
    std::vector<double> y(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = y[i] = static_cast<double>((rank_ + 1) * (i % 97));
    comm_->all_reduce_sum(x.data(), n);
    comm_->all_reduce_sum(y.data(), n);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = size_ * (size_ + 1) / 2 * static_cast<double>(i % 97);
      wrong += x[i] != expected || y[i] != expected;
    }
    EXPECT_EQ(wrong, 0u) << "of " << n;
  }
}

TEST_F(Comm, AnyLength_SumInRankOrder) {
  for (std::size_t n : lengths(size_)) {
    std::vector<float> x = values(n, rank_, n);
    comm_->all_reduce_sum(x.data(), n);
    EXPECT_TRUE(same_bits(x, ordered_sum(n, size_, n))) << n;
  }
}

TEST_F(Comm, WholeBucketedAsync_SameBits) {
  const std::pair<std::size_t, std::size_t> cuts[] = {{300007, 300007}, {300007, 100000}, {60007, 4099}, {5003, 64}};
  for (const auto& [n, bucket] : cuts) {
    std::vector<float> whole = values(3, rank_, n);
    comm_->all_reduce_sum(whole.data(), n);
    std::vector<float> blocking = values(3, rank_, n), async = blocking;
    std::vector<std::unique_ptr<Work>> works;
    for (std::size_t b = 0; b < n; b += bucket) {
      const std::size_t length = std::min(bucket, n - b);
      works.push_back(comm_->all_reduce_sum_async(async.data() + b, length));
      if (b % (3 * bucket) == 0) comm_->all_reduce_sum(blocking.data() + b, length);  // queued behind
      else works.push_back(comm_->all_reduce_sum_async(blocking.data() + b, length));
    }
    for (auto it = works.rbegin(); it != works.rend(); ++it) (*it)->wait();
    EXPECT_TRUE(same_bits(blocking, whole)) << bucket;
    EXPECT_TRUE(same_bits(async, whole)) << bucket;
  }
}

TEST_F(Comm, AllRanksGetTheSameBits) {
  std::vector<float> x = values(4, rank_, 123457);
  comm_->all_reduce_sum(x.data(), x.size());
  const auto all =
      comm_->gather(std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)), size_ - 1);
  if (rank_ != size_ - 1) {
    EXPECT_TRUE(all.empty());
  } else {
    ASSERT_EQ(all.size(), static_cast<std::size_t>(size_));
    for (int r = 0; r < size_; ++r) EXPECT_EQ(all[r], all[0]) << r;
  }
}

// Of a large buffer 2 (size - 1) / size leave each rank (all_reduce.h).
TEST_F(Comm, SentBytes_AreTheAlgorithms) {
  constexpr std::int64_t kCount = std::int64_t{3} << 19;  // shared by 1, 2, 3 and 4 ranks
  std::vector<float> x(kCount, 1.0f);
  comm_->barrier();
  const std::int64_t before = sent_bytes();
  comm_->all_reduce_sum(x.data(), x.size());
  const std::int64_t ranks = comm_->size();
  EXPECT_EQ(sent_bytes() - before, 2 * (ranks - 1) * kCount * static_cast<std::int64_t>(sizeof(float)) / ranks);
}

TEST_F(Comm, NonFiniteValuesReachEveryRank) {
  const float inf = std::numeric_limits<float>::infinity();
  for (std::size_t n : {std::size_t{4}, std::size_t{200000}}) {
    std::vector<float> x(n, 1.0f);
    if (rank_ == size_ - 1) x[1] = inf, x[2] = std::nanf("");
    comm_->all_reduce_sum(x.data(), n);
    EXPECT_EQ(x[0], static_cast<float>(size_));
    EXPECT_EQ(x[1], inf);
    EXPECT_TRUE(std::isnan(x[2]));
  }
  std::vector<double> y = {static_cast<double>(rank_), -1.0 - rank_, rank_ == 0 ? std::nan("") : 1.0};
  comm_->all_reduce_max(y.data(), y.size());
  EXPECT_EQ(y[0], size_ - 1);
  EXPECT_EQ(y[1], -1.0);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST_F(Comm, BroadcastReachesAllFromAnyRoot) {
  for (int root = 0; root < size_; ++root) {
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{3000001}}) {
      std::string x(n, rank_ == root ? 'a' + root : '?');
      comm_->broadcast(x.data(), n, root);
      EXPECT_EQ(x, std::string(n, 'a' + root));
    }
  }
}

TEST_F(Comm, GatherKeepsLengthsAndOrder) {
  for (int root = 0; root < size_; ++root) {
    // Rank 1 has nothing to say: an empty string must not shift the others.
    const auto all = comm_->gather(std::string(rank_ == 1 ? 0 : 100000 * rank_ + 1, '0' + rank_), root);
    if (rank_ != root) continue;
    ASSERT_EQ(all.size(), static_cast<std::size_t>(size_));
    for (int r = 0; r < size_; ++r) EXPECT_EQ(all[r], std::string(r == 1 ? 0 : 100000 * r + 1, '0' + r));
  }
}

TEST_F(Comm, BarrierWaitsForTheLast) {
  // All ranks are on one node here and read one monotonic clock: nobody leaves before the last has come.
  if (rank_ == size_ - 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  double last_arrival = now_s();
  comm_->barrier();
  const double left = now_s();
  comm_->all_reduce_max(&last_arrival, 1);
  EXPECT_GE(left, last_arrival);
}

TEST_F(Comm, TwoCommunicatorsDoNotMix) {
  const auto other = test_world().communicator();
  const std::size_t n = 100003;
  std::vector<float> a = values(5, rank_, n), b = values(6, rank_, n);
  const auto first = comm_->all_reduce_sum_async(a.data(), n);
  const auto second = other->all_reduce_sum_async(b.data(), n);
  // The order of waiting differs between ranks: nobody depends on it.
  if (rank_ % 2 == 0) first->wait(), second->wait();
  else second->wait(), first->wait();
  EXPECT_TRUE(same_bits(a, ordered_sum(5, size_, n)));
  EXPECT_TRUE(same_bits(b, ordered_sum(6, size_, n)));
}

// All ranks of a test share one clock, so what is planted is what must be found, within what the barriers prove.
TEST_F(Comm, PlantedClockOffsets_WithinUncertainty) {
  const auto own = +[] { return now_s(); }, shifted = +[] { return now_s() + 1000.0 * test_world().rank(); };
  for (const double planted : {0.0, 1000.0}) {
    const std::vector<ClockOffset> offsets = clock_offsets(*comm_, 64, planted > 0 ? shifted : own);
    ASSERT_EQ(offsets.size(), rank_ == 0 ? static_cast<std::size_t>(size_) : 0u);
    for (std::size_t r = 0; r < offsets.size(); ++r) {
      const double rounding = 1e-9;  // of a clock that reads days in seconds
      EXPECT_LE(std::abs(offsets[r].offset_s - planted * static_cast<double>(r)), offsets[r].uncertainty_s + rounding)
          << r;
      EXPECT_LT(offsets[r].uncertainty_s, 0.1) << r;  // of 64 barriers at least one was not interrupted for so long
    }
  }
}

// Each reading of rank 1's clock is a second later than the one before: 64 barriers take 127 s by it.
TEST_F(Comm, DriftingClock_UncertainByItsDrift) {
  static double readings;
  readings = 0;
  const auto drifting = +[] { return now_s() + (test_world().rank() == 1 ? readings++ : 0); };
  const std::vector<ClockOffset> offsets = clock_offsets(*comm_, 64, drifting);
  if (offsets.size() < 2) return;
  EXPECT_NEAR(offsets[1].offset_s, 63.5, 1);  // halfway
  EXPECT_NEAR(offsets[1].uncertainty_s, 125, 1);
}

TEST_F(Comm, DroppedWorkIsStillDone) {
  std::vector<float> x(50000, 1.0f);
  comm_->all_reduce_sum_async(x.data(), x.size());
  EXPECT_EQ(x.front(), static_cast<float>(size_));
  EXPECT_EQ(x.back(), static_cast<float>(size_));
}

}  // namespace
}  // namespace ttt::comm
