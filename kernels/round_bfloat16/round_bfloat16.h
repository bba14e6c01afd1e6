// Values as a number of 16 bits would hold them (bfloat16: 8 bits of significand), kept as float32. So weights and sums
// without a copy in float32 are studied on any machine.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

// Of the neighbours of a value among bfloat16's, in the order of the names: the nearer one, at equal distance the even
// one. The one nearer to zero. By chance, so that the mean over draws is the value.
enum class Rounding : std::int32_t { kNearestEven, kTowardZero, kStochastic };

// values: [count], rounded in place; infinities and NaNs stay, and a value beyond the largest one becomes infinite,
// toward zero the largest.
//   update: [1] the number of the update, read where the values lie. A value's draw depends on it, on `key` and on the
//   value's index.
namespace host {
void round_bfloat16(Rounding rounding, std::uint64_t key, const float* update, std::int64_t count, float* values);
}
namespace cuda {
void round_bfloat16(
    Rounding rounding, std::uint64_t key, const float* update, std::int64_t count, float* values, cudaStream_t stream);
}

}  // namespace ttt::kernels
