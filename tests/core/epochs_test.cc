// Epochs and steps of runs with one batch, and with batches that change.
#include "core/epochs.h"

#include <gtest/gtest.h>

namespace ttt {
namespace {

TEST(Epochs, OneBatch_IsAProduct) {
  const Epochs e = 10;
  EXPECT_EQ(e.steps(2.34), 23);
  EXPECT_DOUBLE_EQ(e.after(23), 2.3);
  EXPECT_EQ(e.epoch_of(29), 2);
  EXPECT_TRUE(e.begins_at(0) && e.begins_at(30));
  EXPECT_FALSE(e.begins_at(29));
}

// Two epochs of 12 steps, then of 5.
TEST(Epochs, OtherBatchFromAnEpochOn) {
  const Epochs e(std::vector<Epochs::Phase>{{0, 12}, {2, 5}});
  EXPECT_EQ(e.steps(1.5), 18);
  EXPECT_EQ(e.steps(2), 24);
  EXPECT_EQ(e.steps(4.2), 35);
  EXPECT_DOUBLE_EQ(e.after(35), 4.2);
  EXPECT_EQ(e.epoch_of(23), 1);
  EXPECT_EQ(e.epoch_of(24), 2);
  EXPECT_EQ(e.epoch_of(34), 4);
  std::vector<std::int64_t> begins;
  for (std::int64_t step = 0; step < 36; ++step)
    if (e.begins_at(step)) begins.push_back(step);
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 12, 24, 29, 34}));
}

// Nearest to each multiple, so that no error adds up: 3.3, 6.7, 10, ... of 10 steps.
TEST(Epochs, MultiplesAreNearest) {
  const auto multiples = [](const Epochs& e, double interval, std::int64_t to) {
    std::vector<std::int64_t> all;
    for (std::int64_t step = 0; step <= to; ++step)
      if (e.is_multiple(step, interval)) all.push_back(step);
    return all;
  };
  EXPECT_EQ(multiples(10, 1.0 / 3, 20), (std::vector<std::int64_t>{3, 7, 10, 13, 17, 20}));
  EXPECT_EQ(multiples(10, 0.01, 4), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(multiples(10, 3, 60), (std::vector<std::int64_t>{30, 60}));
  EXPECT_EQ(multiples(Epochs(std::vector<Epochs::Phase>{{0, 12}, {2, 5}}), 0.5, 34),
      (std::vector<std::int64_t>{6, 12, 18, 24, 27, 29, 32, 34}));
}

}  // namespace
}  // namespace ttt
