// Graphs recorded by fake calls, each of which fails once. They keep the books that LibTorch 2.11 and CUDA
// keep: which pool is recorded to, who holds it, whether a stream records, which error waits for the next call. And
// leave them as those do where they fail.
#include "cuda/recorded_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/message_of.h"

namespace ttt::cuda {
namespace {

struct Allocator {
  std::set<PoolId> recording;
  std::map<PoolId, int> uses;
  void begin(const PoolId& pool) {
    ++uses[pool];
    if (!recording.insert(pool).second) throw Error("beginAllocateToPool: already recording to mempool_id");
  }
  void end(const PoolId& pool) {
    if (recording.erase(pool) == 0) throw Error("endAllocatePool: not currently recording to mempool_id");
  }
  void release(const PoolId& pool) {
    ASSERT_GT(uses[pool], 0) << "a share that nobody had, or another graph's";
    if (--uses[pool] == 0) uses.erase(pool);
  }
};

struct Machine {
  Allocator device, host;
  bool stream_records = false, stream_invalid = false, generator_records = false, error_waits = false;
  unsigned long long pools = 0;
  std::set<std::string> fails;
  std::vector<std::string> calls;
  std::vector<PoolId> begun;
  int done = 0;  // the work of replays

  // Whether the call of this name fails.
  bool call(const std::string& name) {
    calls.push_back(name);
    return fails.contains(name);
  }
  void fail(const std::string& name) {
    error_waits = true;
    throw std::runtime_error("fake: " + name + "\nat a place of the stack");
  }
  void expect_idle() const {
    EXPECT_TRUE(device.recording.empty());
    EXPECT_TRUE(host.recording.empty());
    EXPECT_FALSE(stream_records);
    EXPECT_FALSE(generator_records);
    EXPECT_FALSE(error_waits);
    EXPECT_EQ(device.uses, host.uses);
  }
};

class Calls final : public GraphCalls {
 public:
  explicit Calls(Machine& m) : m_(m) {}
  ~Calls() override {
    if (ended_) m_.device.release(pool_), m_.host.release(pool_);
  }
  void settle() override {
    may_fail("settle");
    if (m_.error_waits) throw Error("an error of an earlier call");
    if (!m_.device.recording.empty()) throw Error("captures_underway.empty() INTERNAL ASSERT FAILED");
  }
  std::int64_t free_bytes() override {
    may_fail("free_bytes");
    return 1000 - 100 * static_cast<std::int64_t>(m_.begun.size());
  }
  void begin(const PoolId& pool) override {
    may_fail("begin");  // on the default stream
    m_.generator_records = true;
    pool_ = pool;
    m_.begun.push_back(pool);
    m_.device.begin(pool);
    m_.host.begin(pool);
    may_fail("begin of the stream");
    m_.stream_records = true;
  }
  void end() override {
    may_fail("end");  // on another stream
    m_.stream_records = false;
    if (std::exchange(m_.stream_invalid, false)) m_.fail("an operation that is not permitted");
    may_fail("end of the stream");
    m_.device.end(pool_);
    m_.host.end(pool_);
    m_.generator_records = false;
    may_fail("end with no nodes");
    ended_ = true;
  }
  void instantiate() override { may_fail("instantiate"); }
  std::int64_t count_nodes() override {
    may_fail("count_nodes");
    return 3;
  }
  void replay() override {
    may_fail("replay");
    ASSERT_TRUE(ended_);
    ASSERT_GT(m_.device.uses[pool_], 0) << "its memory is another's by now";
    ++m_.done;
  }

  bool holds(const PoolId& pool) const override { return pool_ == pool; }
  bool ended() const override { return ended_; }
  void end_stream() override {
    may_fail("end_stream");
    m_.stream_records = m_.stream_invalid = false;
  }
  void end_device_allocations(const PoolId& pool) override {
    EXPECT_FALSE(m_.stream_records && !m_.fails.contains("end_stream")) << "the stream comes first";
    may_fail("end_device_allocations");
    m_.device.end(pool);
  }
  void end_host_allocations(const PoolId& pool) override {
    may_fail("end_host_allocations");
    m_.host.end(pool);
  }
  void release_device_pool(const PoolId& pool) override {
    may_fail("release_device_pool");
    m_.device.release(pool);
  }
  void release_host_pool(const PoolId& pool) override {
    may_fail("release_host_pool");
    m_.host.release(pool);
  }
  void end_random_numbers() override {
    may_fail("end_random_numbers");
    m_.generator_records = false;
  }
  void forget_error() override {
    may_fail("forget_error");
    m_.error_waits = false;
  }

 private:
  void may_fail(const std::string& name) {
    if (m_.call(name)) m_.fail(name);
  }

  Machine& m_;
  PoolId pool_;
  bool ended_ = false;
};

std::unique_ptr<GraphDevice> graphs(Machine& m) {
  return make_recorded_graphs(
      [&m]() -> PoolId {
        if (m.call("new_pool")) m.fail("new_pool");
        return {0, ++m.pools};
      },
      [&m] { return std::make_unique<Calls>(m); });
}

const std::vector<std::string> kRecording = {"settle", "free_bytes", "begin", "begin of the stream", "end",
    "end of the stream", "end with no nodes", "instantiate", "count_nodes"};
const std::vector<std::string> kTakingBack = {"end_stream", "end_device_allocations", "end_host_allocations",
    "release_device_pool", "release_host_pool", "end_random_numbers", "forget_error"};

TEST(RecordedGraphs, Calls_InOrderWithOnePool) {
  Machine m;
  const auto device = graphs(m);
  int worked = 0;
  auto first = device->capture([&] { ++worked; });
  EXPECT_EQ(m.calls, (std::vector<std::string>{"new_pool", "settle", "free_bytes", "begin", "begin of the stream",
                         "end", "end of the stream", "end with no nodes", "instantiate", "count_nodes", "free_bytes"}));
  EXPECT_EQ(worked, 1);
  EXPECT_EQ(first->size().nodes, 3);
  EXPECT_EQ(first->size().bytes, 100);
  auto second = device->capture([] {});
  EXPECT_EQ(m.begun, (std::vector<PoolId>{{0, 1}, {0, 1}}));
  EXPECT_EQ(m.device.uses, (std::map<PoolId, int>{{{0, 1}, 2}}));
  first.reset();
  second->replay();
  EXPECT_EQ(m.done, 1);
  second.reset();
  EXPECT_TRUE(m.device.uses.empty());
  m.expect_idle();
}

// What one recording leaves is not the next one's business, nor that of the graphs before.
struct Failure {
  std::string name;
  std::set<std::string> calls;
  bool work_throws = false, work_spoils = false;
};

void fails_and_recovers(const Failure& f, const std::string& said) {
  SCOPED_TRACE(f.name);
  Machine m;
  const auto device = graphs(m);
  const auto earlier = device->capture([] {});
  m.fails = f.calls;
  m.calls.clear();
  EXPECT_EQ(test::message_of<NotCapturable>([&] {
    device->capture([&] {
      EXPECT_TRUE(m.stream_records);
      if (f.work_throws) throw Error("the work cannot be recorded");
      if (f.work_spoils) m.stream_invalid = true;
    });
  }),
      said);
  EXPECT_EQ(m.calls.back(), "forget_error");
  m.expect_idle();
  EXPECT_EQ(m.device.uses, (std::map<PoolId, int>{{{0, 1}, 1}})) << "the earlier graph's share alone";
  m.fails.clear();
  const auto next = device->capture([] {});
  EXPECT_EQ(m.begun.back(), (PoolId{0, 2}));
  const auto after = device->capture([] {});
  EXPECT_EQ(m.begun.back(), (PoolId{0, 2}));
  EXPECT_EQ(m.device.uses, (std::map<PoolId, int>{{{0, 1}, 1}, {{0, 2}, 2}}));
  for (const auto* graph : {&earlier, &next, &after}) (*graph)->replay();
  EXPECT_EQ(m.done, 3);
  m.expect_idle();
}

TEST(RecordedGraphs, EachCallFails_NextRecordingSucceeds) {
  for (const std::string& call : kRecording) fails_and_recovers({call, {call}}, "fake: " + call);
}

TEST(RecordedGraphs, FailingWork_NextRecordingSucceeds) {
  fails_and_recovers({.name = "work that throws", .calls = {}, .work_throws = true}, "the work cannot be recorded");
  fails_and_recovers({.name = "work that makes the recording invalid", .calls = {}, .work_spoils = true},
      "fake: an operation that is not permitted");
}

// The first line becomes part of results; who asks for the rest gets it.
TEST(RecordedGraphs, WholeErrorShownWhereAskedFor) {
  for (const bool asked : {false, true}) {
    Machine m;
    m.fails = {"begin"};
    const auto device = graphs(m);
    asked ? setenv("TTT_WHOLE_ERRORS", "1", 1) : unsetenv("TTT_WHOLE_ERRORS");
    testing::internal::CaptureStderr();
    EXPECT_EQ(test::message_of<NotCapturable>([&] { device->capture([] {}); }), "fake: begin");
    const std::string shown = testing::internal::GetCapturedStderr();
    EXPECT_EQ(shown.find("fake: begin\nat a place of the stack\n") != std::string::npos, asked) << shown;
  }
  unsetenv("TTT_WHOLE_ERRORS");
}

TEST(RecordedGraphs, WithoutAPoolNothingIsBegun) {
  Machine m;
  m.fails = {"new_pool"};
  const auto device = graphs(m);
  EXPECT_EQ(test::message_of<NotCapturable>([&] { device->capture([] {}); }), "fake: new_pool");
  EXPECT_EQ(m.calls, std::vector<std::string>{"new_pool"});
  m.fails.clear(), m.error_waits = false;
  device->capture([] {})->replay();
  EXPECT_EQ(m.done, 1);
}

// A call that takes something back and fails keeps none of the others from being made, and is not what is said.
TEST(RecordedGraphs, WhatTakesBackMayFailToo) {
  for (const std::string& call : kTakingBack) {
    SCOPED_TRACE(call);
    Machine m;
    m.fails = {"begin of the stream", call};
    const auto device = graphs(m);
    EXPECT_EQ(test::message_of<NotCapturable>([&] { device->capture([] {}); }), "fake: begin of the stream");
    EXPECT_EQ(std::vector<std::string>(m.calls.end() - std::ssize(kTakingBack), m.calls.end()), kTakingBack);
    EXPECT_EQ(m.device.recording.empty(), call != "end_device_allocations");
    EXPECT_EQ(m.host.recording.empty(), call != "end_host_allocations");
    EXPECT_EQ(m.device.uses.empty(), call != "release_device_pool");
    EXPECT_EQ(m.host.uses.empty(), call != "release_host_pool");
    EXPECT_EQ(m.generator_records, call == "end_random_numbers");
    EXPECT_EQ(m.error_waits, call == "forget_error");
  }
}

TEST(RecordedGraphs, AReplayThatFailsThrows) {
  Machine m;
  const auto device = graphs(m);
  const auto graph = device->capture([] {});
  m.fails = {"replay"};
  EXPECT_THROW(graph->replay(), std::runtime_error);
  EXPECT_EQ(m.done, 0);
}

}  // namespace
}  // namespace ttt::cuda
