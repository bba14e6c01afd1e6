// Box regression targets and their inverse: a thread per box.
#include "kernels/common/box_math.h"
#include "kernels/common/launch.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <bool kEncode>
__global__ void __launch_bounds__(kThreads)
    code_boxes(BoxCoderParams p, std::int64_t n, const float* in, const float* reference, float* out) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float a[4], b[4], result[4];
  for (int k = 0; k < 4; ++k) {
    a[k] = in[4 * i + k];
    b[k] = reference[4 * i + k];
  }
  if (kEncode) {
    encode_box(p, a, b, result);
  } else {
    decode_box(p, a, b, result);
  }
  for (int k = 0; k < 4; ++k) out[4 * i + k] = result[k];
}

}  // namespace

void encode_boxes(const BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas,
                  cudaStream_t stream) {
  launch("encode_boxes", code_boxes<true>, {.x = blocks_for(n, kThreads), .threads = kThreads}, stream, p, n, gt,
         reference, deltas);
}

void decode_boxes(const BoxCoderParams& p, std::int64_t n, const float* deltas, const float* reference, float* boxes,
                  cudaStream_t stream) {
  launch("decode_boxes", code_boxes<false>, {.x = blocks_for(n, kThreads), .threads = kThreads}, stream, p, n, deltas,
         reference, boxes);
}

}  // namespace ttt::kernels::cuda
