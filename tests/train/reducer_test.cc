// The reducers without tensors: which collectives they start, when, and what they leave in the array. Run on several
// ranks.
#include "train/reducers/reducer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "comm/world.h"
#include "core/error.h"
#include "core/rng.h"
#include "telemetry/trace_collection.h"
#include "tests/support/mpi_main.h"

namespace ttt::train {
namespace {

// A rank of two that never sends: it notes which ranges were reduced, in order.
class Recorder final : public comm::Communicator {
 public:
  struct Done final : comm::Work {
    void wait() override {}
  };
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string name() const override { return "recorder"; }
  void all_reduce_sum(float* data, std::size_t count) override { ranges.emplace_back(data, count); }
  void all_reduce_sum(double*, std::size_t) override {}
  void all_reduce_max(double*, std::size_t) override {}
  std::unique_ptr<comm::Work> all_reduce_sum_async(float* data, std::size_t count) override {
    ranges.emplace_back(data, count);
    return std::make_unique<Done>();
  }
  void broadcast(void*, std::size_t, int) override {}
  std::vector<std::string> gather(const std::string&, int) override { return {}; }
  void barrier() override {}
  std::vector<std::span<float>> ranges;
};

const std::vector<std::int64_t> kOffsets = {0, 10, 40, 45, 50, 100};  // of 107
constexpr std::int64_t kBucketBytes = 40 * 4;                         // {10, 30}, {5, 5, 50}, {7}

TEST(Reducer, FullBuckets_StartInOrder) {
  std::vector<float> gradients(107);
  Recorder comm;
  const auto reducer = make_reducer(
      {.kind = "bucketed", .bucket_bytes = kBucketBytes}, {.gradients = gradients, .offsets = kOffsets, .comm = comm});
  EXPECT_TRUE(reducer->traits().overlaps_backward);
  EXPECT_EQ(reducer->describe().at("bucket_bytes"), (std::vector<int>{160, 240, 28}));
  for (int step = 0; step < 2; ++step) {
    comm.ranges.clear();
    const auto started = [&] { return comm.ranges.size(); };
    reducer->ready(2), reducer->ready(3), reducer->ready(4);  // the second bucket is full first: it waits for its turn
    EXPECT_EQ(started(), 0u);
    reducer->ready(1);
    EXPECT_EQ(started(), 0u);
    reducer->ready(0);
    EXPECT_EQ(started(), 2u);
    reducer->launch();  // parameter 5 had no gradient in this step
    EXPECT_EQ(started(), 3u);
    reducer->finish();
    const std::vector<std::size_t> offset = {0, 40, 100}, count = {40, 60, 7};
    for (std::size_t b = 0; b < 3; ++b) {
      EXPECT_EQ(comm.ranges[b].data(), gradients.data() + offset[b]);
      EXPECT_EQ(comm.ranges[b].size(), count[b]);
    }
  }
}

TEST(Reducer, Kinds_StartTheirCollectivesInTime) {
  std::vector<float> gradients(107);
  for (const char* kind : {"blocking", "flat_async", "none"}) {
    Recorder comm;
    const auto reducer = make_reducer({.kind = kind}, {.gradients = gradients, .offsets = kOffsets, .comm = comm});
    EXPECT_FALSE(reducer->traits().overlaps_backward);
    EXPECT_EQ(reducer->describe().at("kind"), kind);
    for (std::size_t p = 0; p < kOffsets.size(); ++p) reducer->ready(p);
    EXPECT_EQ(comm.ranges.size(), 0u);
    reducer->launch();
    EXPECT_EQ(comm.ranges.size(), std::string(kind) == "flat_async" ? 1u : 0u);
    reducer->finish();
    EXPECT_EQ(comm.ranges.size(), std::string(kind) == "none" ? 0u : 1u);
  }
}

TEST(Reducer, RecordsWhenEachBucketWasReady) {
  std::vector<float> gradients(107);
  Recorder comm;
  trace::Recorder recorder(0, 1);
  const auto reducer = make_reducer({.kind = "bucketed", .bucket_bytes = kBucketBytes},
      {.gradients = gradients, .offsets = kOffsets, .comm = comm, .trace = &recorder});
  recorder.before_step(0);
  for (const std::size_t p : {2, 3, 4, 5, 1, 0}) reducer->ready(p);
  reducer->launch();
  reducer->finish();
  const auto spans = recorder.lane("gradients ready", 1).spans();
  ASSERT_EQ(spans.size(), 3u);
  const std::vector<int> bucket = {1, 2, 0}, bytes = {240, 28, 160};  // as they filled; sent in order later
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(spans[i].event, trace::Event::kBucketReady);
    EXPECT_EQ(spans[i].number, bucket[i]);
    EXPECT_EQ(spans[i].bytes, bytes[i]);
    EXPECT_EQ(spans[i].start_s, spans[i].end_s);
  }
}

TEST(Reducer, RefusesParametersOutsideTheArray) {
  std::vector<float> gradients(100);
  Recorder comm;
  EXPECT_THROW(make_reducer({}, {.gradients = gradients, .offsets = kOffsets, .comm = comm}), Error);
}

// Over MPI, the progress thread sums a bucket while this thread fills the next: what the thread sanitizer is here for.
TEST(Reducer, EveryKind_SumsInRankOrder) {
  const auto comm = test_world().communicator();
  const int ranks = comm->size();
  std::vector<std::int64_t> offsets;
  std::size_t total = 0;
  Stream sizes(random_bits(1, Purpose::kTest, 7));
  for (int i = 0; i < 40; ++i) {
    offsets.push_back(static_cast<std::int64_t>(total));
    total += 1 + sizes.below(3000);
  }
  const auto value = [](int rank, int step, std::size_t i) {
    return static_cast<float>(Stream(
        random_bits(static_cast<std::uint64_t>(rank), Purpose::kTest, i + 1000000 * static_cast<std::size_t>(step)))
                                  .uniform(-1, 1));
  };
  for (const char* kind : {"blocking", "flat_async", "bucketed"}) {
    std::vector<float> gradients(total);
    const auto reducer = make_reducer(
        {.kind = kind, .bucket_bytes = 20000}, {.gradients = gradients, .offsets = offsets, .comm = *comm});
    for (int step = 0; step < 3; ++step) {
      std::size_t at = 0;
      for (std::size_t p = 0; p < offsets.size(); ++p) {
        const std::size_t end = p + 1 < offsets.size() ? static_cast<std::size_t>(offsets[p + 1]) : total;
        for (; at < end; ++at) gradients[at] = value(comm->rank(), step, at);
        reducer->ready(p);
        // lets a bucket arrive while the next is filled
        if (p % 10 == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      reducer->launch();
      reducer->finish();
      for (std::size_t i = 0; i < total; ++i) {
        float sum = value(0, step, i);
        for (int r = 1; r < ranks; ++r) sum += value(r, step, i);
        ASSERT_EQ(gradients[i], sum) << kind << ", step " << step << ", element " << i;
      }
    }
  }
}

// The progress thread records, rank 0 gets every rank's spans.
TEST(Reducer, Traces_HoldEveryStepsBytes) {
  const auto comm = test_world().communicator();
  std::vector<float> gradients(50000);
  std::vector<std::int64_t> offsets;
  for (std::int64_t at = 0; at < 50000; at += 5000) offsets.push_back(at);
  for (const char* kind : {"blocking", "flat_async", "bucketed"}) {
    trace::Recorder recorder(2, 3);
    TraceCollection collection(&recorder, *comm);
    const double zero_s = now_s();
    const auto reducer = make_reducer({.kind = kind, .bucket_bytes = 40000},
        {.gradients = gradients, .offsets = offsets, .comm = *comm, .trace = &recorder});
    for (int step = 0; step < 6; ++step) {
      recorder.before_step(step);
      for (std::size_t p = 0; p < offsets.size(); ++p) reducer->ready(p);
      reducer->launch();
      reducer->finish();
    }
    const auto trace = collection.collect(zero_s);
    ASSERT_EQ(trace.has_value(), comm->rank() == 0);
    if (!trace) continue;
    ASSERT_EQ(static_cast<int>(trace->ranks.size()), comm->size());
    for (const result::TraceRank& rank : trace->ranks) {
      for (const result::TraceLane& lane : rank.lanes) {
        std::int64_t bytes = 0;
        for (const std::int64_t b : lane.bytes) bytes += b;
        EXPECT_EQ(bytes, 3 * 200000) << kind << ", " << lane.name;
        EXPECT_EQ(lane.size(), std::string(kind) == "bucketed" ? 15u : 3u) << kind;
        for (std::size_t i = 0; i < lane.size(); ++i) {
          EXPECT_EQ(lane.number[i], std::string(kind) == "bucketed" ? static_cast<std::int64_t>(i % 5) : 0);
          EXPECT_GE(lane.start_s[i] + rank.clock_uncertainty_s, 0);
          EXPECT_LT(lane.end_s[i], 100);
        }
      }
      EXPECT_EQ(rank.lanes.size(), 2u);
    }
    comm->trace(nullptr);  // the recorder goes, the communicator stays
  }
}

// Five seconds ahead and gaining a hundredth.
double drifts_since_s = 0;
double drifted(double t) { return t + 5 + 0.01 * (t - drifts_since_s); }
double drifting() { return drifted(now_s()); }

// The clock of rank 1 drifts. Its span lies early between the two comparisons, six milliseconds of drift before the
// second: it must come out where it was. Both its times are of one reading, between two of which the system may let
// others run for longer than that.
TEST(TraceCollection, DriftingClock_SpansStayInPlace) {
  const auto comm = test_world().communicator();
  drifts_since_s = now_s();
  const bool drifts = comm->rank() == 1;
  trace::Recorder recorder(0, 1);
  trace::Lane& lane = recorder.lane("main", 1);
  TraceCollection collection(&recorder, *comm, drifts ? drifting : now_s);
  recorder.before_step(0);
  const double zero_s = now_s(), shown_s = drifts ? drifted(zero_s) : zero_s;
  // bytes: when it truly was, in nanoseconds
  lane.add({.start_s = shown_s, .end_s = shown_s, .bytes = std::llround(zero_s * 1e9)});
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const auto trace = collection.collect(zero_s);
  if (!trace) return;
  ASSERT_EQ(static_cast<int>(trace->ranks.size()), comm->size());
  for (const result::TraceRank& rank : trace->ranks) {
    const result::TraceLane& main = rank.lanes.at(0);
    EXPECT_NEAR(
        main.start_s.at(0), static_cast<double>(main.bytes.at(0)) * 1e-9 - zero_s, 2e-3 + rank.clock_uncertainty_s)
        << "rank " << rank.rank << ", uncertain by " << rank.clock_uncertainty_s;
  }
  EXPECT_NEAR(trace->ranks[1].clock_offset_s, 5, 0.1);
}

}  // namespace
}  // namespace ttt::train
