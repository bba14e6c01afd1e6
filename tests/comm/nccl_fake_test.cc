// The communicator over NCCL on fake calls (fake_nccl.h). The exchange of the id, the order of streams and
// events, the time limit, and the failure of every single call. What the real libraries do with the calls is
// nccl_test's matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "comm/nccl.h"
#include "core/clock.h"
#include "core/error.h"
#include "tests/support/fake_host.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/message_of.h"

namespace ttt::comm {
namespace {

using test::Host;
using test::options;
using Calls = std::vector<std::string>;

class NcclCalls : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  static bool called(const std::string& what) {
    const Calls all = fake::calls();
    return std::find(all.begin(), all.end(), what) != all.end();
  }
};

TEST_F(NcclCalls, RootsId_ReachesEveryRank) {
  for (const int rank : {0, 1}) {
    fake::reset();
    Host host(rank, 2);
    { const auto comm = make_nccl(host, options()); }
    EXPECT_EQ(host.broadcast_bytes, 128u);  // an ncclUniqueId
    EXPECT_EQ(fake::count("ncclGetUniqueId"), rank == 0 ? 1 : 0);
    EXPECT_TRUE(called("ncclCommInitRankConfig rank " + std::to_string(rank) + " of 2"));
    EXPECT_TRUE(called("cudaSetDevice 3"));
    EXPECT_EQ(fake::count("ncclCommFinalize"), 1);
    EXPECT_EQ(fake::count("ncclCommDestroy"), 1);
    EXPECT_EQ(fake::count("ncclCommAbort"), 0);
  }
}

// A collective follows what the current stream holds, and wait() holds that stream back and not the host.
TEST_F(NcclCalls, CollectivesAreOrderedByEvents) {
  Host host(0, 2);
  const auto comm = make_nccl(host, options());
  const std::string stream = fake::calls().back().substr(std::string("cudaStreamCreateWithPriority ").size());
  const std::size_t before = fake::calls().size();
  float data[12] = {};
  const auto work = comm->all_reduce_sum_async(data, 12);
  const Calls all = fake::calls();
  const Calls started(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  ASSERT_EQ(started.size(), 4u);
  const auto event = [](const std::string& record) {
    return record.substr(record.find(' ') + 1, record.find(" on ") - record.find(' ') - 1);
  };
  const std::string ready = event(started[0]), done = event(started[3]);
  EXPECT_EQ(started,
      (Calls{"cudaEventRecord " + ready + " on stream 50", "cudaStreamWaitEvent " + ready + " on stream " + stream,
          "ncclAllReduce 12 floats, sum on stream " + stream, "cudaEventRecord " + done + " on stream " + stream}));
  work->wait();
  EXPECT_EQ(fake::calls().back(), "cudaStreamWaitEvent " + done + " on stream 50");
  EXPECT_EQ(fake::count("cudaStreamSynchronize"), 0);
  double numbers[2] = {};
  comm->all_reduce_max(numbers, 2);
  EXPECT_TRUE(called("ncclAllReduce 2 doubles, max on stream " + stream));
  comm->broadcast(data, 48, 1);
  EXPECT_TRUE(called("ncclBroadcast 48 bytes of rank 1 on stream " + stream));
  comm->barrier();
  EXPECT_TRUE(called("cudaStreamSynchronize 50"));
  EXPECT_EQ(host.barriers, 1);
}

TEST_F(NcclCalls, EndlessCollective_IsNamedAndAborted) {
  Host host(1, 2);
  const auto comm = make_nccl(host, options(0.3));
  fake::state().collectives_end = false;
  float data[1000] = {};
  comm->number_next(5);
  const double begin = now_s();
  const auto work = comm->all_reduce_sum_async(data, 1000);
  while (fake::count("ncclCommAbort") == 0 && now_s() - begin < 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(now_s() - begin, 0.3);
  EXPECT_LT(now_s() - begin, 5);
  const std::string said = test::message_of([&] { work->wait(); });
  EXPECT_EQ(
      said.find(
          "Rank 1 waited 0 s in all_reduce_sum(float) number 5 of 4000 bytes, where another rank did not arrive: "),
      0u)
      << said;
  EXPECT_EQ(test::message_of([&] { comm->all_reduce_sum_async(data, 1000); }), said) << "it stays unusable";
  EXPECT_EQ(fake::count("ncclCommAbort"), 1);
}

// What is recorded does not run, so nothing of it can be late; its replay can, of which the host knows the step and
// what was recorded.
TEST_F(NcclCalls, EndlessReplay_IsNamedAndAborted) {
  Host host(1, 2);
  const auto comm = make_nccl(host, options(0.3));
  EXPECT_TRUE(comm->on_device());
  float data[1000] = {};
  const auto record = [&](std::vector<std::size_t> buckets) {
    fake::state().capturing = true;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      comm->number_next(static_cast<std::int32_t>(i));
      comm->all_reduce_sum_async(data, buckets[i])->wait();
    }
    fake::state().capturing = false;
  };
  record({7});
  comm->watch("step 1 of those that were replayed");
  record({1000, 12});                                           // another size of images
  std::this_thread::sleep_for(std::chrono::milliseconds(250));  // step 1 has ended
  const int asked = fake::count("cudaEventQuery");
  EXPECT_GT(asked, 0);
  fake::state().collectives_end = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(fake::count("cudaEventQuery"), asked);
  EXPECT_EQ(fake::count("ncclCommAbort"), 0);
  comm->watch("step 7 of those that were replayed");
  const double begin = now_s();
  while (fake::count("ncclCommAbort") == 0 && now_s() - begin < 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(now_s() - begin, 0.3);
  EXPECT_EQ(test::message_of([&] { comm->watch("step 8"); }),
      "Rank 1 waited 0 s in step 7 of those that were replayed, in one of all_reduce_sum(float) number 0 of 4000 "
      "bytes, all_reduce_sum(float) number 1 of 48 bytes, "
      "where another rank did not arrive: look at the others' logs for what hangs.");
}

TEST_F(NcclCalls, MissingRank_EndsTheWait) {
  fake::state().init_ends = false;
  Host host(0, 2);
  const double begin = now_s();
  EXPECT_THROW(make_nccl(host, options(0.2)), Error);
  EXPECT_LT(now_s() - begin, 5);
}

TEST_F(NcclCalls, OtherRanksError_EndsThisOne) {
  Host host(0, 2);
  const auto comm = make_nccl(host, options());
  fake::state().peer_fails = true;
  const double begin = now_s();
  while (fake::count("ncclCommAbort") == 0 && now_s() - begin < 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  float data[1] = {};
  const std::string said = test::message_of([&] { comm->all_reduce_sum(data, 1); });
  EXPECT_EQ(said.find("NCCL reported an error of another rank or the network"), 0u) << said;
}

TEST_F(NcclCalls, AnotherNcclIsRefused) {
  fake::state().version = 11805;
  Host host(0, 1);
  const std::string said = test::message_of<NotSupported>([&] { make_nccl(host, options()); });
  EXPECT_EQ(said.find("NCCL 11805 was loaded"), 0u) << said;
}

// Each call that a run makes fails once: what it was for is said, or nothing depends on it; and the end comes all the
// same.
TEST_F(NcclCalls, EachCallFails_ErrorOrIgnored) {
  const auto use = [] {
    Host host(0, 2);
    const auto comm = make_nccl(host, options());
    float data[4] = {};
    double numbers[2] = {};
    const auto work = comm->all_reduce_sum_async(data, 4);
    work->wait();
    comm->all_reduce_sum(numbers, 2);
    comm->broadcast(data, 16, 0);
    comm->barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // the watchdog looks twice
    comm->barrier();
  };
  use();
  const Calls functions = fake::functions();
  EXPECT_EQ(functions.size(), 20u);  // all that nccl.cc calls but for texts and abort
  // What ends things, and what is asked to no purpose but to look: there is nothing to say.
  const Calls harmless = {"cudaEventDestroy", "cudaEventQuery", "cudaStreamDestroy",
      "cudaThreadExchangeStreamCaptureMode", "ncclCommDestroy", "ncclCommFinalize", "ncclGetVersion"};
  for (const std::string& function : functions) {
    SCOPED_TRACE(function);
    fake::reset();
    fake::state().fails = function;
    const double begin = now_s();
    if (std::find(harmless.begin(), harmless.end(), function) != harmless.end()) {
      EXPECT_NO_THROW(use());
    } else {
      const std::string said = test::message_of(use);
      EXPECT_NE(said.find("fake"), std::string::npos) << said;
    }
    EXPECT_LT(now_s() - begin, 10);
  }
}

}  // namespace
}  // namespace ttt::comm
