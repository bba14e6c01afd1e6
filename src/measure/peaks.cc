#include "measure/peaks.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/clock.h"
#include "core/error.h"
#include "measure/op_flops.h"

namespace ttt::roofline {
namespace {

using result::Peak;

class Bench {
 public:
  Bench(comm::Communicator& comm, double seconds) : comm_(comm), seconds_(seconds) {}

  // Seconds between the barriers, of the slowest rank; the same number on every rank, so all take the same decisions by
  // it.
  double timed_s(std::int64_t calls, const std::function<void()>& body) {
    comm_.barrier();
    const double begin = now_s();
    for (std::int64_t i = 0; i < calls; ++i) body();
    comm_.barrier();
    double elapsed = now_s() - begin;
    comm_.all_reduce_max(&elapsed, 1);
    return elapsed;
  }

  // `per_call` is this rank's work in one call, `of_all` that of all ranks.
  Peak sampled(const Peak& what, double of_all, const std::function<void()>& body) {
    Peak peak = what;
    body();  // pages, packed weights, threads
    const double once = std::max(timed_s(1, body), 1e-7);
    const auto calls = std::max<std::int64_t>(1, std::llround(seconds_ / 10 / once));
    const auto samples = std::clamp<std::int64_t>(std::llround(seconds_ / (once * static_cast<double>(calls))), 3, 10);
    for (std::int64_t i = 0; i < samples; ++i)
      peak.samples.push_back(of_all * static_cast<double>(calls) / timed_s(calls, body));
    return peak;
  }

  comm::Communicator& comm() { return comm_; }
  double ranks() const { return comm_.size(); }
  double seconds() const { return seconds_; }

 private:
  comm::Communicator& comm_;
  double seconds_;
};

Peak matrix_multiply(Bench& bench) {
  at::Tensor a, b, out;
  const std::function<void()> body = [&] { at::mm_out(out, a, b); };
  std::int64_t n = 256;
  double took = 0;
  do {  // a call of twice the size takes eight times as long: the last one still leaves time for samples
    n *= 2;
    a = at::rand({n, n}), b = at::rand({n, n}), out = at::empty({n, n});
    body();
    took = bench.timed_s(1, body);
  } while (n < 8192 && took * 8 < bench.seconds() / 4);
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const std::string size = std::to_string(n);
  return bench.sampled(
      {"matrix_multiply", "flop/s", "fp32 matrices of " + size + " x " + size, flops}, flops * bench.ranks(), body);
}

Peak convolution(Bench& bench) {
  constexpr std::int64_t kChannels = 256, kHeight = 50, kWidth = 84;  // stride 16
  const at::Tensor x = at::rand({1, kChannels, kHeight, kWidth}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor w = at::rand({kChannels, kChannels, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto flops = static_cast<double>(convolution_flops(x.sizes(), w.sizes(), {1}, {1}, {1}, false));
  at::Tensor y;
  return bench.sampled({"convolution", "flop/s", "fp32 3x3, 256 to 256 channels, 1 x 50 x 84, channels last", flops},
      flops * bench.ranks(), [&] { y = at::conv2d(x, w, {}, 1, 1); });
}

// Elements of each of three arrays: in sum four times the last-level cache and 1 GiB at least (some processors have
// several such caches).
std::int64_t stream_elements(const PeakSettings& settings, int ranks) {
  const double cache = std::max(0.0, static_cast<double>(::sysconf(_SC_LEVEL3_CACHE_SIZE)));
  const double bytes =
      std::max(4 * cache, 1024.0 * 1024 * 1024) / (settings.ranks_of_node > 0 ? settings.ranks_of_node : ranks);
  return static_cast<std::int64_t>(bytes / 3 / sizeof(float));
}

// Plain stores: the compiler would otherwise make the copy a call of memcpy, which bypasses the cache from some size
// on.
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void copy(
    float* a, const float* b, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) a[i] = b[i];
}
void triad(
    float* __restrict a, const float* __restrict b, const float* __restrict c, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] + 2.0f * c[i];
}

std::vector<Peak> memory(Bench& bench, const PeakSettings& settings) {
  const std::int64_t n = stream_elements(settings, bench.comm().size());
  const auto threads = static_cast<std::int64_t>(at::get_num_threads());
  const at::Tensor out = at::empty({n}), first = at::empty({n}), second = at::empty({n});
  float *a = out.data_ptr<float>(), *b = first.data_ptr<float>(), *c = second.data_ptr<float>();
  // One range for each thread, always the same: its pages come to lie where that thread runs.
  const auto ranges = [&](const std::function<void(std::int64_t, std::int64_t)>& body) {
    at::parallel_for(
        0, threads, 1, [&](std::int64_t from, std::int64_t to) { body(n * from / threads, n * to / threads); });
  };
  ranges([&](std::int64_t from, std::int64_t to) {
    std::fill(a + from, a + to, 0.0f), std::fill(b + from, b + to, 1.0f), std::fill(c + from, c + to, 3.0f);
  });
  const double array = static_cast<double>(n) * sizeof(float);
  const std::string work =
      "arrays of " + std::to_string(n * static_cast<std::int64_t>(sizeof(float)) >> 20) + " MiB a rank, plain stores";
  std::vector<Peak> peaks;
  peaks.push_back(bench.sampled({"memory_copy", "B/s", work, 2 * array}, 2 * array * bench.ranks(),
      [&] { ranges([&](std::int64_t from, std::int64_t to) { copy(a, b, from, to); }); }));
  if (a[0] != 1.0f || a[n - 1] != 1.0f)
    throw Incorrect("memory_copy: the copy differs from its source. Its time means nothing.");
  peaks.push_back(bench.sampled({"memory_triad", "B/s", work, 3 * array}, 3 * array * bench.ranks(),
      [&] { ranges([&](std::int64_t from, std::int64_t to) { triad(a, b, c, from, to); }); }));
  if (a[0] != 7.0f || a[n - 1] != 7.0f) throw Incorrect("memory_triad: the sum is wrong. Its time means nothing.");
  return peaks;
}

Peak all_reduce(Bench& bench) {
  const at::Tensor buffer = at::zeros({16 << 18});
  const auto n = static_cast<std::size_t>(buffer.numel());
  const double ranks = bench.ranks(), bytes = static_cast<double>(n) * sizeof(float) * 2 * (ranks - 1) / ranks;
  return bench.sampled(
      {"all_reduce", "B/s", "16 MiB, bus bandwidth: 2 (n - 1) / n x bytes / time, " + bench.comm().name(), bytes},
      bytes, [&] { bench.comm().all_reduce_sum(buffer.data_ptr<float>(), n); });
}

}  // namespace

std::vector<Peak> measure_peaks(comm::Communicator& comm, const PeakSettings& settings) {
  if (!(settings.seconds_each > 0)) throw UsageError("The seconds of a peak must be more than zero.");
  const c10::AutoGradMode no_gradients(false);
  Bench bench(comm, settings.seconds_each);
  std::vector<Peak> peaks;
  settings.starts("matrix product"), peaks.push_back(matrix_multiply(bench));
  settings.starts("convolution"), peaks.push_back(convolution(bench));
  settings.starts("memory");
  for (Peak& p : memory(bench, settings)) peaks.push_back(std::move(p));
  if (comm.size() > 1) settings.starts("all-reduce"), peaks.push_back(all_reduce(bench));
  check_peaks(peaks, comm.size());
  return peaks;
}

void check_peaks(const std::vector<Peak>& peaks, int ranks) {
  for (const Peak& p : peaks) {
    const double limit = (p.unit == "flop/s" ? 1e15 : 10e12) * ranks;
    for (const double rate : p.samples)
      if (!(rate > 0 && rate <= limit)) {
        char text[160];
        std::snprintf(text, sizeof text, "The peak %s was measured as %g %s, which no machine has", p.name.c_str(),
            rate, p.unit.c_str());
        throw Incorrect(std::string(text) + ": its clock or its work is wrong. Run it again; report it if it stays.");
      }
    if (p.samples.empty()) throw Incorrect("The peak " + p.name + " has no sample. Give it more seconds.");
  }
}

}  // namespace ttt::roofline
