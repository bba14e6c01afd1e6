// The sampler: the positives and the negatives of smallest key. Keys are uniform in 64 bits, so a bound computed from
// the counts lets through a little more than wanted, which is then ranked by counting. Three launches: count, collect,
// finish. Where the bound fails (beyond eight standard deviations, or keys that are not uniform), the last launch
// bisects for one.
#include <cmath>

#include "core/rng.h"
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/sample/sample.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kPerThread = 16, kPerBlock = kThreads * kPerThread, kFinishThreads = 1024;

// All by image and kind: 0 positives, 1 negatives.
struct Draws {
  std::int32_t *there, *collected;  // [images, 2]
  std::uint64_t* key;               // [images, 2, capacity]
  std::int32_t *candidate, *drawn;  // [images, 2, capacity]; drawn: whether it is one of the smallest
  int capacity;
};

Draws draws_in(const SampleParams& p, Workspace&& memory) {
  Draws d{};
  // The bound lets through size + 8 sqrt(size) + 64 on average; eight of their own standard deviations more fit.
  const std::int64_t most =
      p.size + static_cast<std::int64_t>(std::ceil(20 * std::sqrt(static_cast<double>(p.size)))) + 256;
  d.capacity = static_cast<int>(most);
  d.there = memory.take<std::int32_t>(4 * p.images);
  d.collected = d.there == nullptr ? nullptr : d.there + 2 * p.images;
  d.key = memory.take<std::uint64_t>(2 * p.images * most);
  d.candidate = memory.take<std::int32_t>(2 * p.images * most);
  d.drawn = memory.take<std::int32_t>(2 * p.images * most);
  return d;
}

// -1: neither.
__device__ int kind_of(std::int32_t matched) { return matched >= 0 ? 0 : (matched == -1 ? 1 : -1); }

// Of the draw: seed and step, as they are when the kernel runs.
struct Draw {
  std::uint64_t seed, step;
  __device__ explicit Draw(const std::int64_t* key)
      : seed(static_cast<std::uint64_t>(key[0])), step(static_cast<std::uint64_t>(key[1])) {}
  __device__ std::uint64_t bits(const SampleParams& p, std::int64_t image_id, std::int64_t c) const {
    return random_bits(seed, static_cast<Purpose>(p.purpose), step, static_cast<std::uint64_t>(image_id),
        static_cast<std::uint64_t>(c));
  }
};

// How many of each kind are drawn.
struct Wanted {
  int count[2];
  __device__ Wanted(const SampleParams& p, const std::int32_t* there) {
    // A product of floats, as in the reference implementation.
    const auto most = static_cast<int>(static_cast<float>(p.size) * p.positive_fraction);
    count[0] = min(most, there[0]);
    count[1] = min(static_cast<int>(p.size) - count[0], there[1]);
  }
};

__device__ std::uint64_t first_bound(int count, int there) {
  const double wanted = static_cast<double>(count) + 8 * sqrt(static_cast<double>(count)) + 64,
               share = wanted / static_cast<double>(there);
  return share < 1 ? static_cast<std::uint64_t>(share * 0x1p64) : ~std::uint64_t{0};
}

__global__ void __launch_bounds__(kThreads)
    count_kinds(SampleParams p, const std::int32_t* matched, std::int32_t* there) {
  const std::int64_t image = blockIdx.y, first = static_cast<std::int64_t>(blockIdx.x) * kPerBlock;
  unsigned own[2] = {0, 0};
  for (int i = 0; i < kPerThread; ++i) {
    const std::int64_t c = first + i * kThreads + threadIdx.x;
    const int kind = c < p.candidates ? kind_of(matched[image * p.candidates + c]) : -1;
    own[0] += kind == 0;
    own[1] += kind == 1;
  }
  for (int kind = 0; kind < 2; ++kind) {
    const unsigned sum = __reduce_add_sync(kAllLanes, own[kind]);
    if (threadIdx.x % 32 == 0 && sum > 0) atomicAdd(&there[2 * image + kind], static_cast<std::int32_t>(sum));
  }
}

__device__ void offer(const Draws& d, std::int64_t image, int kind, std::uint64_t key, std::int64_t c) {
  const std::int32_t at = atomicAdd(&d.collected[2 * image + kind], 1);
  if (at >= d.capacity) return;  // counted all the same
  const std::int64_t slot = (2 * image + kind) * d.capacity + at;
  d.key[slot] = key;
  d.candidate[slot] = static_cast<std::int32_t>(c);
}

__global__ void __launch_bounds__(kThreads) collect(
    SampleParams p, const std::int64_t* key, const std::int32_t* matched, const std::int64_t* image_id, Draws d) {
  const std::int64_t image = blockIdx.y, first = static_cast<std::int64_t>(blockIdx.x) * kPerBlock;
  const Wanted wanted(p, d.there + 2 * image);
  const Draw draw(key);
  const std::uint64_t bound[2] = {
      first_bound(wanted.count[0], d.there[2 * image]), first_bound(wanted.count[1], d.there[2 * image + 1])};
  for (int i = 0; i < kPerThread; ++i) {
    const std::int64_t c = first + i * kThreads + threadIdx.x;
    const int kind = c < p.candidates ? kind_of(matched[image * p.candidates + c]) : -1;
    // Chosen by a condition: an index would put both arrays into local memory.
    if (kind < 0 || (kind == 0 ? wanted.count[0] : wanted.count[1]) == 0) continue;
    const std::uint64_t bits = draw.bits(p, image_id[image], c);
    if (bits <= (kind == 0 ? bound[0] : bound[1])) offer(d, image, kind, bits, c);
  }
}

// Collects again, by one block, until the number fits: keys are distinct, so some bound does it.
__device__ void collect_again(const SampleParams& p, const Draw& draw, const std::int32_t* matched,
    std::int64_t image_id, const Draws& d, std::int64_t image, int kind, int count) {
  std::int32_t* collected = &d.collected[2 * image + kind];
  std::uint64_t bound = first_bound(count, d.there[2 * image + kind]), low = 0, high = ~std::uint64_t{0};
  for (;;) {
    __syncthreads();
    const int got = *collected;
    if (got >= count && got <= d.capacity) return;
    if (got < count) {
      low = bound + 1;
    } else {
      high = bound - 1;
    }
    bound = low + (high - low) / 2;
    __syncthreads();
    if (threadIdx.x == 0) *collected = 0;
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < p.candidates; c += kFinishThreads) {
      if (kind_of(matched[image * p.candidates + c]) != kind) continue;
      const std::uint64_t bits = draw.bits(p, image_id, c);
      if (bits <= bound) offer(d, image, kind, bits, c);
    }
  }
}

// Writes the `count` candidates of smallest key, ascending.
__device__ void write_smallest(const Draws& d, std::int64_t image, int kind, int count, std::int32_t* out) {
  const std::int64_t first = (2 * image + kind) * d.capacity;
  const std::uint64_t* key = d.key + first;
  const std::int32_t* candidate = d.candidate + first;
  std::int32_t* drawn = d.drawn + first;
  const int collected = d.collected[2 * image + kind];
  for (int i = static_cast<int>(threadIdx.x); i < collected; i += kFinishThreads) {
    int rank = 0;
    for (int j = 0; j < collected; ++j) rank += key[j] < key[i];
    drawn[i] = rank < count;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < collected; i += kFinishThreads) {
    if (!drawn[i]) continue;
    int rank = 0;
    for (int j = 0; j < collected; ++j) rank += drawn[j] && candidate[j] < candidate[i];
    out[rank] = candidate[i];
  }
}

__global__ void __launch_bounds__(kFinishThreads)
    finish_sample(SampleParams p, const std::int64_t* key, const std::int32_t* matched, const std::int64_t* image_id,
        Draws d, std::int32_t* index, std::int32_t* positives, std::int32_t* total) {
  const std::int64_t image = blockIdx.x;
  const Wanted wanted(p, d.there + 2 * image);
  std::int32_t* out = index + image * p.size;
  for (int kind = 0; kind < 2; ++kind) {
    const int count = wanted.count[kind];
    if (count == 0) continue;
    collect_again(p, Draw(key), matched, image_id[image], d, image, kind, count);
    write_smallest(d, image, kind, count, out + (kind == 0 ? 0 : wanted.count[0]));
  }
  const int all = wanted.count[0] + wanted.count[1];
  for (int i = all + static_cast<int>(threadIdx.x); i < p.size; i += kFinishThreads) out[i] = 0;
  if (threadIdx.x == 0) {
    positives[image] = wanted.count[0];
    total[image] = all;
  }
}

}  // namespace

std::size_t sample_workspace(const SampleParams& p) { return workspace_bytes(draws_in, p); }

void sample(const SampleParams& p, const SampleIn& in, const SampleOut& out, void* workspace, cudaStream_t stream) {
  if (!(p.positive_fraction >= 0.0f && p.positive_fraction <= 1.0f) || p.size < 0)
    throw UsageError("A sampler wants a size of at least 0 and a positive fraction in [0, 1]. Correct SampleParams.");
  const Draws d = draws_in(p, Workspace(workspace));
  clear(d.there, static_cast<std::size_t>(4 * p.images) * sizeof(std::int32_t), stream);
  const Shape by_candidates{.x = blocks_for(p.candidates, kPerBlock), .y = p.images, .threads = kThreads};
  launch("count_kinds", count_kinds, by_candidates, stream, p, in.matched, d.there);
  launch("collect", collect, by_candidates, stream, p, in.key, in.matched, in.image_id, d);
  launch("finish_sample", finish_sample, {.x = p.images, .threads = kFinishThreads}, stream, p, in.key, in.matched,
      in.image_id, d, out.index, out.positives, out.total);
}

}  // namespace ttt::kernels::cuda
