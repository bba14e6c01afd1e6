// The cost of a started all-reduce for a computation beside it, and what it saves. An all-reduce of 16 MiB in four
// buckets, and arithmetic that stays in the cache, so that it slows down only where its core is taken away. The
// processor time is that of the whole process, progress thread included, which a busy machine does not disturb.
#include "overlap.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/clock.h"

namespace ttt::micro {
namespace {

constexpr std::size_t kCount = (16 << 20) / sizeof(float), kBuckets = 4;

void compute() {
  static std::vector<float> a(4096, 1.0001f), b(4096, 0.9999f);
  float sum = 0;
  for (int round = 0; round < 20000; ++round)
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i] + static_cast<float>(round);
  [[maybe_unused]] static volatile float kept;
  kept = sum;
}

void sleep_s(double seconds) {
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(seconds * 1e9)};
  nanosleep(&time, nullptr);
}

struct Ranks {
  comm::Communicator& comm;
  std::vector<float> values;

  void blocking() { comm.all_reduce_sum(values.data(), kCount); }
  std::vector<std::unique_ptr<comm::Work>> start() {
    std::vector<std::unique_ptr<comm::Work>> started;
    for (std::size_t b = 0; b < kBuckets; ++b)
      started.push_back(comm.all_reduce_sum_async(values.data() + b * kCount / kBuckets, kCount / kBuckets));
    return started;
  }
  void wait(const std::vector<std::unique_ptr<comm::Work>>& started) {
    for (const auto& work : started) work->wait();
  }
};

// Each returns the seconds that it is about.
double timed(const std::function<void()>& body) {
  const double begin = now_s();
  body();
  return now_s() - begin;
}
double compute_alone(Ranks&) { return timed(compute); }
double one_after_the_other(Ranks& r) {
  return timed([&] { compute(), r.blocking(); });
}
double overlapped(Ranks& r) {
  return timed([&] {
    const auto started = r.start();
    compute();
    r.wait(started);
  });
}
double compute_beside(Ranks& r) {
  const auto started = r.start();
  const double took = timed(compute);
  r.wait(started);
  return took;
}
// Rank 0's progress thread waits all through its computation: the others start when they have computed.
double compute_while_a_peer_is_late(Ranks& r) {
  std::vector<std::unique_ptr<comm::Work>> started;
  if (r.comm.rank() == 0) started = r.start();
  const double took = timed(compute);
  if (r.comm.rank() != 0) started = r.start();
  r.wait(started);
  return took;
}
double idle_while_a_peer_is_late(Ranks& r) {
  return timed([&] {
    std::vector<std::unique_ptr<comm::Work>> started;
    if (r.comm.rank() == 0) started = r.start();
    sleep_s(0.2);
    if (r.comm.rank() != 0) started = r.start();
    r.wait(started);
  });
}

}  // namespace

std::vector<Side> overlap_sides(comm::Communicator& comm) {
  const auto ranks = std::make_shared<Ranks>(Ranks{comm, std::vector<float>(kCount, 0.0f)});
  std::vector<Side> sides;
  using Body = double (*)(Ranks&);
  for (const auto& [name, body] : {std::pair<const char*, Body>{"compute_alone", compute_alone},
           {"one_after_the_other", one_after_the_other}, {"overlapped", overlapped}, {"compute_beside", compute_beside},
           {"compute_while_a_peer_is_late", compute_while_a_peer_is_late},
           {"idle_while_a_peer_is_late", idle_while_a_peer_is_late}})
    sides.push_back({name, [ranks, body = body] { return body(*ranks); }});
  return sides;
}

}  // namespace ttt::micro
