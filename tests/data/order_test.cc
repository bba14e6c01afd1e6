#include "data/order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/temp_folder.h"
#include "data/shard_writer.h"
#include "tests/data/tiny_set.h"

namespace ttt::data {
namespace {

TEST(Permutation, AnySize_IsAPermutation) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 15, 16, 17, 100, 1023, 1024, 1025, 117266}) {
    const Permutation p(n, 1, 0), next(n, 1, 1), other(n, 2, 0);
    std::vector<bool> hit(static_cast<std::size_t>(n));
    std::int64_t same_next = 0, same_other = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(p(i) >= 0 && p(i) < n && !hit[p(i)]);
      hit[p(i)] = true;
      same_next += p(i) == next(i), same_other += p(i) == other(i);
    }
    // A random permutation has one fixed point on average, 12 with probability below 1e-9.
    if (n > 100) { EXPECT_LT(std::max(same_next, same_other), 12) << n; }
  }
}

// Where element 0 of 8 lands over many epochs: uniform. Chi-square with 7 degrees of freedom, 1e-6 quantile 40.5.
TEST(Permutation, PlacesAreUniform) {
  constexpr int kEpochs = 8000;
  for (int element = 0; element < 8; ++element) {
    std::vector<int> count(8);
    for (int epoch = 0; epoch < kEpochs; ++epoch) ++count[Permutation(8, 9, epoch)(element)];
    double chi2 = 0;
    for (const int c : count) chi2 += std::pow(c - kEpochs / 8.0, 2) / (kEpochs / 8.0);
    EXPECT_LT(chi2, 40.5) << element;
  }
}

// COCO-like mixture of shapes without images: the packer wants files, so shards are written directly.
class MixedSet {
 public:
  MixedSet() {
    ShardIndex index;
    index.category_id = {1}, index.category_name = {"thing"};
    for (std::int64_t i = 0; i < 101; ++i) {
      append_image(index, {.id = 1000 + i, .height = i % 3 == 0 ? 80u : 40u, .width = 60, .file_name = ""}, {});
      index.offset.push_back(0), index.length.push_back(0), index.crc32c.push_back(0);
    }
    std::filesystem::create_directories(folder_.path());
    ShardWriter writer(folder_ / "train-00000-of-00001.h5", 64);
    writer.finish(index, {{"split", "train"}, {"pack_id", "x"}, {"source_sha256", ""}}, {});
    set = std::make_unique<ShardSet>(folder_.path(), "train");
  }
  std::unique_ptr<ShardSet> set;

 private:
  TempFolder folder_;
};

std::vector<std::int64_t> global_images(
    const ShardSet& set, const DataSettings& data, int ranks, std::int64_t batch, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> out;
  for (std::int64_t s = from; s < to; ++s)
    for (int r = 0; r < ranks; ++r)
      for (const Sample& sample :
          TrainOrder(set, data, {.seed = 4, .global_batch = batch, .rank = r, .ranks = ranks}).at(s).samples)
        out.push_back(sample.image * 2 + sample.flip);
  return out;
}

TEST(TrainOrder, AnyRanksOrRestart_SameOrder) {
  const MixedSet mixed;
  for (const bool grouped : {false, true})
    for (const char* last : {"drop", "wrap"}) {
      DataSettings data;
      data.group_by_aspect = grouped, data.last_batch = last;
      const auto one = global_images(*mixed.set, data, 1, 12, 0, 40);
      for (const int ranks : {2, 3, 4, 6, 12}) EXPECT_EQ(global_images(*mixed.set, data, ranks, 12, 0, 40), one);
      // Seven steps on two ranks, then resumed on four in the middle of an epoch.
      auto resumed = global_images(*mixed.set, data, 2, 12, 0, 7);
      const auto rest = global_images(*mixed.set, data, 4, 12, 7, 40);
      resumed.insert(resumed.end(), rest.begin(), rest.end());
      EXPECT_EQ(resumed, one);
    }
}

TEST(TrainOrder, LastBatch_IsDroppedOrWrapped) {
  const MixedSet mixed;
  DataSettings data;
  for (const bool wrap : {false, true}) {
    data.last_batch = wrap ? "wrap" : "drop";
    const TrainOrder order(*mixed.set, data, {.seed = 4, .global_batch = 8});
    EXPECT_EQ(order.epochs().steps_before(1), wrap ? 13 : 12);
    for (const std::int64_t epoch : {0, 1, 5}) {
      std::map<std::int64_t, int> times;
      for (std::int64_t s = 0; s < order.epochs().steps_before(1); ++s) {
        const BatchPlan plan = order.at(epoch * order.epochs().steps_before(1) + s);
        EXPECT_EQ(plan.epoch, epoch);
        for (const Sample& sample : plan.samples) ++times[sample.image];
      }
      EXPECT_EQ(times.size(), wrap ? 101u : 96u);  // 13 * 8 - 101 = 3 images twice
      std::int64_t twice = 0;
      for (const auto& [image, n] : times) twice += n - 1;
      EXPECT_EQ(twice, wrap ? 3 : 0);
    }
  }
}

TEST(TrainOrder, Groups_NeverMixAndAllAppear) {
  const MixedSet mixed;
  DataSettings data;
  data.group_by_aspect = true;
  for (const bool wrap : {false, true}) {
    data.last_batch = wrap ? "wrap" : "drop";
    const TrainOrder order(*mixed.set, data, {.seed = 4, .global_batch = 8});
    // 34 portrait (i % 3 == 0), 67 landscape.
    EXPECT_EQ(order.epochs().steps_before(1), wrap ? 5 + 9 : 4 + 8);
    for (const std::int64_t epoch : {0, 1, 2, 1}) {
      std::set<std::int64_t> seen;
      for (std::int64_t s = 0; s < order.epochs().steps_before(1); ++s) {
        int portrait = 0;
        for (const Sample& sample : order.at(epoch * order.epochs().steps_before(1) + s).samples) {
          seen.insert(sample.image);
          portrait += mixed.set->image(sample.image).height >= mixed.set->image(sample.image).width;
        }
        EXPECT_TRUE(portrait == 0 || portrait == 8) << portrait;
      }
      EXPECT_EQ(seen.size(), wrap ? 101u : 96u);
    }
  }
}

// Each epoch is that of a run with its batch throughout. 101 images: two epochs of 12 steps, then of 5, then of 25.
TEST(TrainOrder, BatchByPhase_KeepsEachEpoch) {
  const MixedSet mixed;
  DataSettings data;
  for (const bool grouped : {false, true})
    for (const int rank : {0, 1}) {
      data.group_by_aspect = grouped;
      const auto order_of = [&](std::int64_t batch, std::vector<OrderPhase> phases = {}) {
        return TrainOrder(
            *mixed.set, data, {.seed = 4, .global_batch = batch, .rank = rank, .ranks = 2, .phases = phases});
      };
      const TrainOrder order = order_of(8, {{0, 0, 0}, {2, 0, 20}, {3, 0, 4}});
      EXPECT_EQ(order.most_per_rank(), 10);
      std::int64_t step = 0;
      for (const auto& [epoch, batch] : std::map<std::int64_t, std::int64_t>{{0, 8}, {1, 8}, {2, 20}, {3, 4}, {4, 4}}) {
        const TrainOrder alone = order_of(batch);
        EXPECT_EQ(order.epochs().steps_before(epoch), step);
        const std::int64_t steps = alone.epochs().steps_before(1);
        for (std::int64_t s = 0; s < steps; ++s) {
          const BatchPlan is = order.at(step + s), wanted = alone.at(epoch * steps + s);
          ASSERT_EQ(is.epoch, epoch);
          ASSERT_EQ(is.samples.size(), static_cast<std::size_t>(batch / 2));
          for (std::size_t k = 0; k < is.samples.size(); ++k) {
            EXPECT_EQ(is.samples[k].image, wanted.samples[k].image);
            EXPECT_EQ(is.samples[k].flip, wanted.samples[k].flip);
          }
        }
        step += steps;
      }
    }
}

// Sizes may change within an epoch, where the batch stays.
TEST(TrainOrder, SizeByPhase_FromItsStep) {
  const MixedSet mixed;
  const TrainOrder order(
      *mixed.set, {}, {.global_batch = 8, .phases = {{.first_epoch = 0}, {.first_epoch = 0.5, .short_side = 64}}});
  EXPECT_EQ(order.at(5).short_side, 0);
  EXPECT_EQ(order.at(6).short_side, 64);
}

TEST(TrainOrder, FlipsAreFair) {
  const MixedSet mixed;
  DataSettings data;
  std::int64_t flips = 0;
  const auto all = global_images(*mixed.set, data, 1, 10, 0, 1000);
  for (const std::int64_t v : all) flips += v % 2;
  EXPECT_NEAR(static_cast<double>(flips), 5000.0, 5 * 50);  // binomial(10000, 1/2): five standard deviations
  data.flip = 0;
  for (const std::int64_t v : global_images(*mixed.set, data, 1, 10, 0, 50)) EXPECT_EQ(v % 2, 0);
  data.flip = 1;
  for (const std::int64_t v : global_images(*mixed.set, data, 1, 10, 0, 50)) EXPECT_EQ(v % 2, 1);
}

TEST(TrainOrder, ImpossibleBatchesAreRefused) {
  const MixedSet mixed;
  const DataSettings data;
  EXPECT_NE(message_of<UsageError>([&] {
    TrainOrder(*mixed.set, data, {.global_batch = 10, .rank = 0, .ranks = 4});
  }).find("multiple of the ranks"),
      std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] {
    TrainOrder(*mixed.set, data, {.global_batch = 200});
  }).find("do not fill one global batch"),
      std::string::npos);
}

TEST(EvalOrder, AllRanks_EveryImageOnce) {
  const MixedSet mixed;
  for (const int ranks : {1, 2, 5}) {
    std::vector<std::int64_t> seen;
    std::int64_t fillers = 0;
    const std::int64_t batches = EvalOrder(*mixed.set, {}, {.global_batch = 10, .rank = 0, .ranks = ranks}).batches();
    EXPECT_EQ(batches, 11);
    for (std::int64_t b = 0; b < batches; ++b)
      for (int r = 0; r < ranks; ++r)
        for (const Sample& s :
            EvalOrder(*mixed.set, {}, {.global_batch = 10, .rank = r, .ranks = ranks}).at(b).samples) {
          EXPECT_FALSE(s.flip);
          if (s.image < 0) ++fillers;
          else seen.push_back(s.image);
        }
    EXPECT_EQ(fillers, 9);
    ASSERT_EQ(seen.size(), 101u);
    for (std::int64_t i = 0; i < 101; ++i) EXPECT_EQ(seen[i], i);
  }
}

TEST(EvalOrder, TwoSizes_OneOrientationABatch) {
  const MixedSet mixed;
  DataSettings data;
  data.padding = "two";
  for (const int ranks : {1, 2, 5}) {
    std::set<std::int64_t> seen;
    const std::int64_t batches = EvalOrder(*mixed.set, data, {.global_batch = 10, .rank = 0, .ranks = ranks}).batches();
    EXPECT_EQ(batches, 7 + 4);  // of 67 landscape and 34 portrait images
    for (std::int64_t b = 0; b < batches; ++b) {
      std::set<bool> kinds;
      for (int r = 0; r < ranks; ++r)
        for (const Sample& s :
            EvalOrder(*mixed.set, data, {.global_batch = 10, .rank = r, .ranks = ranks}).at(b).samples)
          if (s.image >= 0) {
            EXPECT_TRUE(seen.insert(s.image).second);
            kinds.insert(mixed.set->image(s.image).height >= mixed.set->image(s.image).width);
          }
      EXPECT_EQ(kinds.size(), 1u);
    }
    EXPECT_EQ(seen.size(), 101u);
  }
}

}  // namespace
}  // namespace ttt::data
