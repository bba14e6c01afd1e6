// The recorder: what is kept, what is counted as lost, and that it may be read while others write (thread sanitizer).
#include "core/trace.h"

#include <gtest/gtest.h>

#include <thread>

namespace ttt::trace {
namespace {

TEST(Trace, KeepsWhatEndsInTheWindow) {
  Recorder recorder(3, 2);
  Lane& lane = recorder.lane("main", 4);
  for (std::int64_t step = 0; step < 8; ++step) {
    recorder.before_step(step);
    const Scope span(&lane, Event::kStep, step, 10 * step);
  }
  ASSERT_EQ(lane.spans().size(), 2u);
  for (std::int64_t i = 0; i < 2; ++i) {
    const Span& s = lane.spans()[static_cast<std::size_t>(i)];
    EXPECT_EQ(s.number, 3 + i);
    EXPECT_EQ(s.bytes, 10 * (3 + i));
    EXPECT_EQ(s.event, Event::kStep);
    EXPECT_LE(s.start_s, s.end_s);
  }
  EXPECT_LE(lane.spans()[0].end_s, lane.spans()[1].start_s);
  EXPECT_EQ(lane.dropped(), 0);
  const Scope nowhere(nullptr, Event::kStep);  // where nothing is recorded
}

TEST(Trace, CountsWhatFindsNoRoom) {
  Recorder recorder(0, 1);
  Lane& lane = recorder.lane("main", 1);
  const auto room = static_cast<std::int64_t>(1 + Recorder::kAhead);
  recorder.before_step(0);
  for (std::int64_t i = 0; i < room + 5; ++i) lane.add({.number = static_cast<std::int32_t>(i)});
  EXPECT_EQ(static_cast<std::int64_t>(lane.spans().size()), room);
  EXPECT_EQ(lane.spans().back().number, room - 1);  // the first ones stay: a trace has no holes before its end
  EXPECT_EQ(lane.dropped(), 5);
  recorder.close();
  lane.add({});
  EXPECT_EQ(lane.dropped(), 5);  // what ends outside of the window is not missed
}

TEST(Trace, EmptyLane_GrowsUnderItsName) {
  Recorder recorder(0, 1);
  Lane& lane = recorder.lane("gradients", 1);
  EXPECT_EQ(&recorder.lane("gradients", 50), &lane);
  recorder.lane("another", 1);
  recorder.before_step(0);
  for (int i = 0; i < 50; ++i) lane.add({});
  EXPECT_EQ(lane.dropped(), 0);
  EXPECT_EQ(recorder.lanes().size(), 2u);
  EXPECT_EQ(recorder.lane("gradients", 5000).spans().size(), 50u);  // what it holds stays
}

TEST(Trace, ThreadsWriteWhileOneReads) {
  constexpr int kThreads = 4, kSpans = 20000;
  Recorder recorder(0, 1);
  std::vector<Lane*> lanes;
  for (int t = 0; t < kThreads; ++t) lanes.push_back(&recorder.lane("thread " + std::to_string(t), 1000));
  recorder.before_step(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kSpans; ++i) lanes[static_cast<std::size_t>(t)]->add({.bytes = t, .number = i});
    });
  std::size_t seen = 0;
  for (int look = 0; look < 200 || seen == 0; ++look) {  // on a busy machine the threads may not have begun yet
    for (const Lane* lane : recorder.lanes()) {
      const auto spans = lane->spans();
      for (std::size_t i = 0; i < spans.size(); ++i) ASSERT_EQ(spans[i].number, static_cast<std::int32_t>(i));
      seen += spans.size();
    }
  }
  for (std::thread& t : threads) t.join();
  const std::size_t room = 1000 * (1 + Recorder::kAhead);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(lanes[static_cast<std::size_t>(t)]->spans().size(), room);
    EXPECT_EQ(lanes[static_cast<std::size_t>(t)]->dropped(), static_cast<std::int64_t>(kSpans - room));
    EXPECT_EQ(lanes[static_cast<std::size_t>(t)]->spans().back().bytes, t);
  }
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace ttt::trace
