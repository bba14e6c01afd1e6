#include "all_reduce_table.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "core/clock.h"
#include "core/statistics.h"

namespace ttt::micro {
namespace {

constexpr std::size_t kResidues = 8;

// Never 0: a rank that is left out shows in every element.
float value_of(int rank, std::size_t element) {
  return static_cast<float>((static_cast<std::size_t>(rank) + element) % kResidues + 1);
}

// f(data, count) for each call.
template <class F> void each(Buffers& b, F&& f) {
  float* at = b.values.data();
  for (const std::size_t n : b.counts) f(at, n), at += n;
}

void reduce_by_mpi(Buffers& b) {
  each(b, [](float* data, std::size_t n) {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
}

Buffers buffers_of(std::vector<std::size_t> counts) {
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return {std::move(counts), std::vector<float>(total)};
}

std::string size_name(std::size_t bytes) {
  std::size_t unit = 0;
  for (; unit < 3 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  return std::to_string(bytes) + kUnits[unit];
}

// nccl-tests' columns time, algbw, busbw, #wrong.
void print_columns(double time_s, double bytes, double bus_factor, std::int64_t wrong) {
  const double us = time_s * 1e6, algbw = bytes / time_s / 1e9;
  std::printf("  %7.*f  %6.2f  %6.2f  %5lld",
      us >= 10000 ? 0
      : us >= 100 ? 1
                  : 2,
      us, algbw, algbw * bus_factor, static_cast<long long>(wrong));
}

}  // namespace

std::int64_t wrong_elements(comm::Communicator& comm, const Reduce& reduce, Buffers& buffers) {
  std::array<float, kResidues> sums{};
  for (int rank = 0; rank < comm.size(); ++rank)
    for (std::size_t i = 0; i < kResidues; ++i) sums[i] += value_of(rank, i);
  for (std::size_t i = 0; i < buffers.values.size(); ++i) buffers.values[i] = value_of(comm.rank(), i);
  reduce(buffers);
  double wrong = 0;
  for (std::size_t i = 0; i < buffers.values.size(); ++i) wrong += buffers.values[i] == sums[i % kResidues] ? 0 : 1;
  comm.all_reduce_sum(&wrong, 1);
  std::fill(buffers.values.begin(), buffers.values.end(), 0.0f);  // sums of sums would overflow
  return static_cast<std::int64_t>(wrong);
}

void measure(comm::Communicator& comm, const Timing& timing, std::vector<Side>& sides) {
  for (int round = 0; round < timing.rounds; ++round) {
    for (Side& side : sides) {
      std::vector<double> took;
      std::clock_t begin = 0;
      for (int i = -1; i < timing.iterations; ++i) {
        if (i == 0) begin = std::clock();
        comm.barrier();
        const double s = side.call();
        if (i >= 0) took.push_back(s);
      }
      const double calls = timing.iterations;
      side.cpu_s.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / calls);
      comm.all_reduce_max(took.data(), took.size());
      side.real_s.push_back(sum(took) / calls);
    }
    std::reverse(sides.begin(), sides.end());
  }
  if (timing.rounds % 2 == 1) std::reverse(sides.begin(), sides.end());
}

void AllReduceTable::print_header() {
  std::printf(
      "#\n#                                                                 ours                      MPI_Allreduce\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
      "(GB/s)\n");
}

void AllReduceTable::keep(const std::string& operation, const Side& side, double bus_bytes, std::int64_t wrong) {
  const std::string name = operation + "/" + side.name;
  const auto entry = [&](result::Json rest) {
    result::Json e = {{"name", name}, {"run_name", name}, {"run_type", "iteration"}};
    e.update(rest);
    entries_.push_back(std::move(e));
  };
  if (wrong > 0)
    return entry({{"error_occurred", true}, {"error_message", std::to_string(wrong) + " elements are no sum"}});
  for (int round = 0; round < timing_.rounds; ++round) {
    const double real_s = side.real_s[round];
    entry({{"repetitions", timing_.rounds}, {"repetition_index", round}, {"threads", 1},
        {"iterations", timing_.iterations}, {"real_time", real_s * 1e6}, {"cpu_time", side.cpu_s[round] * 1e6},
        {"time_unit", "us"}, {"label", std::to_string(comm_.size()) + " ranks, the slowest one's time"}});
    if (!(bus_bytes > 0)) continue;
    entries_.back()["bus_bytes/s"] = bus_bytes / real_s;
    ratios_.add(name, "bus_bytes/s", bus_bytes / real_s);
  }
}

std::vector<Side> AllReduceTable::add_row(
    const std::string& shape, const std::string& name, const Reduce& ours, Buffers& buffers) {
  std::vector<Side> sides;
  std::vector<std::int64_t> wrong;
  for (const auto& [side, reduce] : {std::pair<std::string, Reduce>{name, ours}, {"mpi", reduce_by_mpi}}) {
    wrong.push_back(wrong_elements(comm_, reduce, buffers));
    wrong_ += wrong.back();
    sides.push_back({side, [&buffers, reduce = reduce] {
                       const double begin = now_s();
                       reduce(buffers);
                       return now_s() - begin;
                     }});
  }
  measure(comm_, timing_, sides);
  const double bytes = static_cast<double>(buffers.bytes());
  std::printf("%12zu  %12zu  %8s  %6s  %6d", buffers.bytes(), buffers.values.size(), "float", "sum", -1);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    print_columns(median(sides[i].real_s), bytes, bus_factor(), wrong[i]);
    keep("all_reduce/" + shape, sides[i], bytes * bus_factor(), wrong[i]);
  }
  return sides;
}

void AllReduceTable::add_size(std::size_t bytes) {
  Buffers buffers = buffers_of({bytes / sizeof(float)});
  const std::vector<Side> sides = add_row(
      size_name(buffers.bytes()), "ours", [&](Buffers& b) { comm_.all_reduce_sum(b.values.data(), b.values.size()); },
      buffers);
  const double bus_gb = static_cast<double>(buffers.bytes()) * bus_factor() / 1e9;
  ours_.push_back(bus_gb / median(sides[0].real_s)), mpi_.push_back(bus_gb / median(sides[1].real_s));
  std::printf("\n");
  std::fflush(stdout);
}

void AllReduceTable::add_buckets(const std::vector<std::size_t>& counts) {
  Buffers buffers = buffers_of(counts);
  const std::string shape = std::to_string(counts.size()) + "_buckets";
  add_row(
      shape, "ours", [&](Buffers& b) { each(b, [&](float* data, std::size_t n) { comm_.all_reduce_sum(data, n); }); },
      buffers);
  std::printf("  # %zu buckets, one after the other\n", counts.size());
  add_row(
      shape, "ours_async",
      [&](Buffers& b) {
        std::vector<std::unique_ptr<comm::Work>> started;
        each(b, [&](float* data, std::size_t n) { started.push_back(comm_.all_reduce_sum_async(data, n)); });
        for (const auto& work : started) work->wait();
      },
      buffers);
  std::printf("  # %zu buckets, ours all started at once\n", counts.size());
}

void AllReduceTable::add_lines(const std::string& operation, std::vector<Side> sides) {
  measure(comm_, timing_, sides);
  for (const Side& side : sides) {
    std::printf(
        "# %s: %.1f ms, processor %.1f ms\n", side.name.c_str(), median(side.real_s) * 1e3, median(side.cpu_s) * 1e3);
    keep(operation, side, 0, 0);
  }
}

double AllReduceTable::average_bus_bandwidth() const { return sum(ours_) / static_cast<double>(ours_.size()); }

void AllReduceTable::print_end() const {
  std::printf("# Out of bounds values : %lld %s\n# Avg bus bandwidth    : %g\n# of MPI_Allreduce     : %g\n#\n",
      static_cast<long long>(wrong_), wrong_ == 0 ? "OK" : "FAILED", average_bus_bandwidth(),
      sum(mpi_) / static_cast<double>(mpi_.size()));
}

}  // namespace ttt::micro
