// A thread per value: memory is read and written once.
#include "kernels/common/launch.h"
#include "kernels/round_bfloat16/round_one.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    round_values(Rounding rounding, std::uint64_t key, const float* update, std::int64_t count, float* values) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t draw = rounding == Rounding::kStochastic ? rounding_draw(rounding_key(key, *update), i) : 0;
  values[i] = __uint_as_float(bfloat16_bits(rounding, __float_as_uint(values[i]), draw));
}

}  // namespace

void round_bfloat16(
    Rounding rounding, std::uint64_t key, const float* update, std::int64_t count, float* values, cudaStream_t stream) {
  launch("round_values", round_values, {.x = blocks_for(count, kThreads), .threads = kThreads}, stream, rounding, key,
      update, count, values);
}

}  // namespace ttt::kernels::cuda
