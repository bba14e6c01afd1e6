// Signs of life between real ranks. Run on several numbers of ranks.
#include "comm/heartbeat.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "comm/text.h"
#include "core/clock.h"
#include "tests/support/mpi_main.h"

namespace ttt::comm {
namespace {

void sleep_s(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

// False where it did not come true within ten seconds.
bool soon(const std::function<bool()>& condition) {
  for (const double end = now_s() + 10; now_s() < end; sleep_s(0.01))
    if (condition()) return true;
  return false;
}

TEST(Heartbeat, EveryRank_KnowsEveryRanksStep) {
  const auto comm = test_world().communicator();
  RankState place;
  const auto heartbeat = test_world().heartbeat(place);
  for (const std::int64_t round : {1, 2, 3}) {
    place.step = 100 * round + comm->rank(), place.stage = comm->rank() % 6;
    const bool all_known = soon([&] {
      const std::vector<Sign> signs = heartbeat->signs();
      for (int r = 0; r < comm->size(); ++r)
        if (signs[static_cast<std::size_t>(r)].step != 100 * round + r ||
            signs[static_cast<std::size_t>(r)].stage != r % 6)
          return false;
      return static_cast<int>(signs.size()) == comm->size();
    });
    EXPECT_TRUE(all_known) << "round " << round;
    comm->barrier();  // nobody proceeds to the next place before all have seen this one
  }
  heartbeat->stop();
}

// Rank 0 comes late to a barrier: all learn who waits, where, for how long, and who does not.
TEST(Heartbeat, RankInCollective_IsTold) {
  const auto comm = test_world().communicator();
  if (comm->size() == 1) return;
  RankState place;
  const auto heartbeat = test_world().heartbeat(place);
  if (comm->rank() == 0) {
    std::vector<Sign> seen;
    EXPECT_TRUE(soon([&] {
      seen = heartbeat->signs();
      for (std::size_t r = 1; r < seen.size(); ++r)
        if (seen[r].collective != "barrier" || seen[r].still_s < 0.5 || seen[r].silent_s > 0.5) return false;
      return true;
    }));
    EXPECT_EQ(seen[0].collective, "");
  }
  comm->barrier();
  EXPECT_TRUE(
      soon([&] { return heartbeat->signs()[0].collective.empty() && heartbeat->signs().back().collective.empty(); }));
  heartbeat->stop();
}

TEST(Heartbeat, TakesLittleTime) {
  RankState place;
  const auto heartbeat = test_world().heartbeat(place);
  sleep_s(1);
  heartbeat->stop();
  RecordProperty("cpu_us_per_s", static_cast<int>(heartbeat->cpu_s() * 1e6));
  EXPECT_LT(heartbeat->cpu_s(), 0.05);  // of one second, under sanitizers too
}

TEST(Texts, OfAllRanksArriveEverywhere) {
  const auto comm = test_world().communicator();
  const auto own = [](int rank) {
    return std::string(static_cast<std::size_t>(rank), ':') + "12:" + std::string(1, '\0') + std::to_string(rank);
  };
  const std::vector<std::string> all = texts_of_all(*comm, own(comm->rank()));
  ASSERT_EQ(static_cast<int>(all.size()), comm->size());
  for (int r = 0; r < comm->size(); ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], own(r));
  EXPECT_EQ(broadcast_text(*comm, own(comm->rank() + 3)), own(3));
}

}  // namespace
}  // namespace ttt::comm
