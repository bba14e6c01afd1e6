// The table of all-reduces: what counts as wrong, and the order in which sides take turns.
#include <gtest/gtest.h>

#include "benchmarks/micro/all_reduce_table.h"
#include "tests/support/mpi_main.h"

namespace ttt::micro {
namespace {

constexpr std::size_t kElements = 1001;

std::int64_t wrong_of(const std::function<void(comm::Communicator&, Buffers&)>& reduce) {
  const auto comm = test_world().communicator();
  Buffers buffers{{kElements}, std::vector<float>(kElements)};
  return wrong_elements(
      *comm, [&](Buffers& b) { reduce(*comm, b); }, buffers);
}

TEST(WrongElements, Sum_IsRight) {
  EXPECT_EQ(wrong_of([](auto& comm, Buffers& b) { comm.all_reduce_sum(b.values.data(), kElements); }), 0);
}

TEST(WrongElements, Planted_IsCountedOnEveryRank) {
  EXPECT_EQ(wrong_of([](auto& comm, Buffers& b) {
    comm.all_reduce_sum(b.values.data(), kElements);
    if (comm.rank() == comm.size() - 1) b.values[7] += 1, b.values[kElements - 1] = 0;
  }),
      2);
}

TEST(WrongElements, RankLeftOut_IsWrongEverywhere) {
  EXPECT_EQ(wrong_of([](auto& comm, Buffers& b) {
    if (comm.rank() == 0) std::fill(b.values.begin(), b.values.end(), 0.0f);
    comm.all_reduce_sum(b.values.data(), kElements);
  }),
      static_cast<std::int64_t>(kElements) * test_world().size());
}

TEST(Measure, Sides_TakeTurns) {
  const auto comm = test_world().communicator();
  std::string order;
  std::vector<Side> sides = {
      {"a", [&] { return order += 'a', 1.0 + comm->rank(); }}, {"b", [&] { return order += 'b', 2.0; }}};
  measure(*comm, {.rounds = 3, .iterations = 1}, sides);
  EXPECT_EQ(order, "aabbbbaaaabb");  // one call of two is timed
  EXPECT_EQ(sides[0].name, "a");
  EXPECT_EQ(sides[0].real_s, std::vector<double>(3, comm->size()));  // the slowest rank's
  EXPECT_EQ(sides[1].real_s, std::vector<double>(3, 2.0));
}

}  // namespace
}  // namespace ttt::micro
