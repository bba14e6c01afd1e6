// Mask targets from bitmaps: a block per RoI. The weights with which a target row (or column) averages the bitmap's
// rows are written to shared memory once. Then a thread per target pixel sums its rectangle, columns inside, in the
// order of the reference implementation.
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/mask_targets/mask_targets.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr float kLongestRoi = 1e6f;  // keeps sample counts inside an int

// One axis: bin b reads the bitmap's pixels [begin[b], begin[b] + count[b]), whose weights are weight[begin[b] + 4 b +
// i]. Neighbouring bins share at most two pixels, so four places a bin keep them apart.
struct Averages {
  float* weight;
  int *begin, *count;
  static std::size_t floats(int size, std::int64_t longest_side) {
    return static_cast<std::size_t>(longest_side + 4 * size);
  }
  __device__ float at(int bin, int i) const { return weight[begin[bin] + 4 * bin + i]; }
};

struct Side {
  float start, end;      // of the RoI
  std::int64_t extent;   // of the image
  std::int64_t crop, n;  // the bitmap's pixels
};

// RoIAlign's samples along one axis, adaptive count, not aligned; bins 0 .. size - 1, by as many threads from `thread`
// on.
__device__ void average_axis(const Side& s, int size, int thread, const Averages& out) {
  if (thread < 0 || thread >= size) return;
  const int b = thread;
  out.begin[b] = 0;
  out.count[b] = 0;
  if (!(fabsf(s.start) <= 3.402823466e38f) || !(fabsf(s.end) <= 3.402823466e38f) || s.end - s.start > kLongestRoi)
    return;
  const float side = s.end - s.start, bin = (side < 1.0f ? 1.0f : side) / static_cast<float>(size);
  const int grid = static_cast<int>(ceilf(bin));
  int begin = 0, count = 0;
  const auto add = [&](std::int64_t pixel, float weight) {
    pixel -= s.crop;
    if (pixel < 0 || pixel >= s.n) return;
    if (count == 0) begin = static_cast<int>(pixel);
    float* weights = out.weight + begin + 4 * b;
    const int at = static_cast<int>(pixel) - begin;
    for (; count <= at; ++count) weights[count] = 0.0f;
    weights[at] += weight;
  };
  for (int i = 0; i < grid; ++i) {
    float v = s.start + static_cast<float>(b) * bin + (static_cast<float>(i) + 0.5f) * bin / static_cast<float>(grid);
    if (!(v >= -1.0f && v <= static_cast<float>(s.extent))) continue;
    v = v < 0.0f ? 0.0f : v;
    const auto low = static_cast<std::int64_t>(v);
    if (low >= s.extent - 1) {
      add(s.extent - 1, 1.0f);
    } else {
      add(low, 1.0f - (v - static_cast<float>(low)));
      add(low + 1, v - static_cast<float>(low));
    }
  }
  for (int i = 0; i < count; ++i) out.weight[begin + 4 * b + i] /= static_cast<float>(grid);
  out.begin[b] = begin;
  out.count[b] = count;
}

__global__ void __launch_bounds__(kThreads)
    mask_targets_bitmap_kernel(MaskTargetParams p, BitmapTargetsIn in, int floats, float* out) {
  auto* shared = dynamic_shared<float>();
  int* ints = reinterpret_cast<int*>(shared + 2 * floats);
  const Averages y{shared, ints, ints + p.size}, x{shared + floats, ints + 2 * p.size, ints + 3 * p.size};
  const std::int64_t roi = blockIdx.x;
  const int area = p.size * p.size;
  const std::int64_t own = in.object[roi];
  if (own < 0) {
    for (int i = static_cast<int>(threadIdx.x); i < area; i += kThreads) out[roi * area + i] = 0.0f;
    return;
  }
  const std::int32_t* box = in.bitmap_box + 4 * own;
  const float* r = in.rois + 4 * roi;
  for (int first = 0; first < 2 * p.size; first += kThreads) {
    const int thread = first + static_cast<int>(threadIdx.x);
    average_axis({r[1], r[3], in.image_height[roi], box[1], box[3]}, p.size, thread, y);
    average_axis({r[0], r[2], in.image_width[roi], box[0], box[2]}, p.size, thread - p.size, x);
  }
  __syncthreads();
  const std::uint8_t* bits = in.bytes + in.bitmap_offset[own];
  for (int i = static_cast<int>(threadIdx.x); i < area; i += kThreads) {
    const int by = i / p.size, bx = i % p.size;
    float sum = 0;
    for (int c = 0; c < x.count[bx]; ++c) {
      const std::uint8_t* column = bits + static_cast<std::int64_t>(y.begin[by]) * box[2] + x.begin[bx] + c;
      float covered = 0;
      for (int k = 0; k < y.count[by]; ++k)
        covered += y.at(by, k) * static_cast<float>(column[static_cast<std::int64_t>(k) * box[2]] != 0);
      sum += x.at(bx, c) * covered;
    }
    out[roi * area + i] = sum;
  }
}

}  // namespace

void mask_targets_bitmap(const MaskTargetParams& p, const BitmapTargetsIn& in, float* out, cudaStream_t stream) {
  if (p.size < 1) throw UsageError("Mask targets want a side of at least one pixel. Correct MaskTargetParams::size.");
  if (p.longest_side < 0)
    throw UsageError("A bitmap's side cannot be negative. Correct MaskTargetParams::longest_side.");
  const std::size_t floats = Averages::floats(p.size, p.longest_side);
  const Shape shape{.x = p.rois,
                    .threads = kThreads,
                    .shared = 2 * floats * sizeof(float) + 4 * static_cast<std::size_t>(p.size) * sizeof(int)};
  launch("mask_targets_bitmap", mask_targets_bitmap_kernel, shape, stream, p, in, static_cast<int>(floats), out);
}

}  // namespace ttt::kernels::cuda
