// Not a test: times this code's all-reduce beside MPI_Allreduce in one run, calls interleaved, medians over rounds of the
// slowest rank's time; then what a started all-reduce costs a computation beside it.
//   mpirun -n 2 build/tests/measure_all_reduce [multiple]     (multiple: MPI_THREAD_MULTIPLE instead of SERIALIZED)
#include <mpi.h>

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "comm/world.h"
#include "core/clock.h"

namespace {

using ttt::now_s;

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + x.size() / 2, x.end());
  return x[x.size() / 2];
}

// Seconds of the slowest rank, from a common start.
double slowest_s(const std::function<void()>& body) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_s();
  body();
  double took = now_s() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took;
}

void compare_sizes(ttt::comm::Communicator& comm) {
  const bool speaks = comm.rank() == 0;
  if (speaks) std::printf("%10s %12s %12s %8s %12s %8s\n", "bytes", "MPI_us", "ours_us", "ours/MPI", "async_us", "async/MPI");
  for (std::size_t bytes = 4 << 10; bytes <= 64 << 20; bytes *= 4) {
    const std::size_t n = bytes / sizeof(float);
    std::vector<float> x(n, 1.0f);
    const int rounds = bytes >= 16 << 20 ? 7 : 25;
    std::vector<double> mpi, ours, async;
    for (int i = 0; i < rounds + 2; ++i) {
      const double a = slowest_s([&] { MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
      const double b = slowest_s([&] { comm.all_reduce_sum(x.data(), n); });
      const double c = slowest_s([&] { comm.all_reduce_sum_async(x.data(), n)->wait(); });
      std::fill(x.begin(), x.end(), 1.0f);
      if (i >= 2) mpi.push_back(a), ours.push_back(b), async.push_back(c);
    }
    const double m = median(mpi), o = median(ours), s = median(async);
    if (speaks) std::printf("%10zu %12.1f %12.1f %8.2f %12.1f %8.2f\n", bytes, m * 1e6, o * 1e6, o / m, s * 1e6, s / m);
  }
}

// Arithmetic that stays in the cache: it slows down only where its core is taken away.
double burn(int rounds) {
  static std::vector<float> a(4096, 1.0001f), b(4096, 0.9999f);
  float sum = 0;
  for (int r = 0; r < rounds; ++r)
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i] + static_cast<float>(r);
  return sum;
}

void compare_overlap(ttt::comm::Communicator& comm) {
  volatile double sink = 0;
  const std::size_t n = (16 << 20) / sizeof(float), buckets = 4;
  std::vector<float> x(n, 1.0f);
  const int work = 20000;
  std::vector<double> alone, idle, beside, whole, sequence;
  for (int i = 0; i < 12; ++i) {
    auto compute = [&] { sink = sink + burn(work); };
    alone.push_back(slowest_s(compute));
    sequence.push_back(slowest_s([&] { compute(), comm.all_reduce_sum(x.data(), n); }));
    double computed = 0;
    whole.push_back(slowest_s([&] {
      std::vector<std::unique_ptr<ttt::comm::Work>> started;
      for (std::size_t b = 0; b < buckets; ++b) started.push_back(comm.all_reduce_sum_async(x.data() + b * n / buckets, n / buckets));
      const double begin = now_s();
      compute();
      computed = now_s() - begin;
      for (auto& w : started) w->wait();
    }));
    beside.push_back(computed);
    // A peer that comes late: the progress thread waits all through this rank's computation.
    computed = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    std::unique_ptr<ttt::comm::Work> early;
    if (comm.rank() == 0) early = comm.all_reduce_sum_async(x.data(), n);
    const double begin = now_s();
    compute();
    computed = now_s() - begin;
    if (comm.rank() != 0) early = comm.all_reduce_sum_async(x.data(), n);
    early->wait();
    idle.push_back(computed);
    std::fill(x.begin(), x.end(), 1.0f);
  }
  if (comm.rank() != 0) return;
  const double a = median(alone);
  std::printf("computation alone %.1f ms; while the progress thread waits for a late peer %.3f of that; beside a running all-reduce of 16 MB in %zu "
              "buckets %.3f; computation then all-reduce %.3f, overlapped %.3f\n",
              a * 1e3, median(idle) / a, buckets, median(beside) / a, median(sequence) / a, median(whole) / a);
}

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Processor time, which a busy machine does not disturb: of one second of waiting for a late peer, and of an all-reduce.
void compare_processor_time(ttt::comm::Communicator& comm) {
  const std::size_t n = (16 << 20) / sizeof(float);
  std::vector<float> x(n, 0.0f);
  std::vector<double> waiting, blocking, async;
  for (int i = 0; i < 5; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double a = cpu_s();
    std::unique_ptr<ttt::comm::Work> work;
    if (comm.rank() == 0) work = comm.all_reduce_sum_async(x.data(), 10);
    timespec second{.tv_sec = 1, .tv_nsec = 0};
    nanosleep(&second, nullptr);
    waiting.push_back(cpu_s() - a);
    if (comm.rank() != 0) work = comm.all_reduce_sum_async(x.data(), 10);
    work->wait();
    comm.barrier();
    const double b = cpu_s();
    for (int k = 0; k < 10; ++k) comm.all_reduce_sum(x.data(), n);
    blocking.push_back((cpu_s() - b) / 10);
    comm.barrier();
    const double c = cpu_s();
    for (int k = 0; k < 10; ++k) comm.all_reduce_sum_async(x.data(), n)->wait();
    async.push_back((cpu_s() - c) / 10);
  }
  if (comm.rank() == 0)
    std::printf("processor time of rank 0: waiting one second for a late peer %.2f ms; all-reduce of 16 MB %.2f ms, by the progress thread %.2f ms\n",
                median(waiting) * 1e3, median(blocking) * 1e3, median(async) * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::string(argv[1]) == "multiple";
  using ttt::comm::ThreadLevel;
  ttt::comm::World world(&argc, &argv, {.thread_level = multiple ? ThreadLevel::kMultiple : ThreadLevel::kSerialized});
  const auto comm = world.communicator();
  if (world.rank() == 0) std::printf("%s, %d ranks, thread level %s\n", world.library().c_str(), world.size(), world.thread_level().c_str());
  compare_sizes(*comm);
  compare_overlap(*comm);
  compare_processor_time(*comm);
}
