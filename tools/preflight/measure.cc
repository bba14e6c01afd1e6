#include "tools/preflight/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "core/clock.h"
#include "core/sha256.h"

namespace ttt::preflight {
namespace {

constexpr std::size_t kHashBytes = 256 << 10, kCopyBytes = 32 << 20;

double clock_of_the_day_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class Body> double timed_s(Body&& body) {
  const double begin = now_s();
  body();
  return now_s() - begin;
}

// Rank 0 gets `own` of every rank.
template <class T> std::vector<T> gathered(comm::Communicator& comm, const T& own) {
  std::vector<T> all;
  for (const std::string& bytes : comm.gather(std::string(reinterpret_cast<const char*>(&own), sizeof own), 0)) {
    all.emplace_back();
    std::memcpy(&all.back(), bytes.data(), sizeof own);
  }
  return all;
}

std::vector<Speed> speeds(comm::Communicator& comm, std::int64_t repeats) {
  const std::string text(kHashBytes, 'x');
  std::vector<char> from(kCopyBytes, 1), to(kCopyBytes, 2);
  Speed best;
  comm.barrier();
  for (std::int64_t i = 0; i < repeats; ++i) {
    std::string digest;
    const double hash_s = timed_s([&] {
      Sha256 hash;
      hash.update(text);
      digest = hash.hex();
    });
    from[0] = digest[0];  // the digest is used
    const double copy_s = timed_s([&] { std::memcpy(to.data(), from.data(), kCopyBytes); });
    from[1] = to[i % 64];
    best.hash_bytes_per_s = std::max(best.hash_bytes_per_s, static_cast<double>(kHashBytes) / hash_s);
    best.copy_bytes_per_s = std::max(best.copy_bytes_per_s, 2.0 * static_cast<double>(kCopyBytes) / copy_s);
  }
  return gathered(comm, best);
}

// Each node's first rank in turn sends to everybody: a node whose link is slow is late in all rounds, or makes all
// others late in its own.
std::vector<std::vector<double>> links(
    comm::Communicator& comm, const std::vector<int>& first_ranks, const Settings& settings) {
  if (first_ranks.size() < 2) return {};
  std::vector<char> buffer(static_cast<std::size_t>(settings.link_bytes), 1);
  std::vector<std::vector<double>> rows;
  for (const int root : first_ranks) {
    double best = std::numeric_limits<double>::max();
    for (std::int64_t i = 0; i < settings.repeats; ++i) {
      comm.barrier();
      best = std::min(best, timed_s([&] { comm.broadcast(buffer.data(), buffer.size(), root); }));
    }
    const std::vector<double> all = gathered(comm, best);
    std::vector<double> row;
    for (const int r : first_ranks)
      if (!all.empty()) row.push_back(all[r]);
    rows.push_back(std::move(row));
  }
  return rows;
}

double slowest_s(comm::Communicator& comm, double own) {
  comm.all_reduce_max(&own, 1);
  return own;
}

Reduction reduction(comm::Communicator& comm, const Settings& settings) {
  Reduction r;
  if (comm.size() == 1) return r;
  const double ranks = comm.size();
  std::vector<float> buffer(static_cast<std::size_t>(settings.all_reduce_bytes) / sizeof(float));
  r.bus_bytes = 2 * (ranks - 1) / ranks * static_cast<double>(buffer.size() * sizeof(float));
  // the first one maps pages and opens connections: not a sample
  for (std::int64_t i = -1; i < settings.repeats; ++i) {
    double one = 1;
    comm.barrier();
    const double small_s = timed_s([&] { comm.all_reduce_sum(&one, 1); });
    // Small integers: every order of summation gives the same sum.
    for (std::size_t k = 0; k < buffer.size(); ++k) buffer[k] = static_cast<float>(k % 8);
    comm.barrier();
    const double large_s = timed_s([&] { comm.all_reduce_sum(buffer.data(), buffer.size()); });
    bool right = one == ranks;
    for (std::size_t k = 0; k < buffer.size(); ++k)
      right &= buffer[k] == static_cast<float>(k % 8) * static_cast<float>(ranks);
    r.right &= slowest_s(comm, right ? 0 : 1) == 0;
    const double small = slowest_s(comm, small_s), large = slowest_s(comm, large_s);
    if (i >= 0) r.small_s.push_back(small), r.large_s.push_back(large);
  }
  return r;
}

}  // namespace

Measured measure(comm::Communicator& comm, const std::vector<int>& first_ranks, const Settings& settings) {
  Measured m;
  m.speed_of_rank = speeds(comm, settings.repeats);
  m.clock_of_rank = comm::clock_offsets(comm, comm::kClockBarriers, clock_of_the_day_s);
  m.link_s = links(comm, first_ranks, settings);
  m.reduction = reduction(comm, settings);
  return m;
}

}  // namespace ttt::preflight
