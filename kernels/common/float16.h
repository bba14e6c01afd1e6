// The 16-bit floating-point types of mixed precision, as they lie in memory. Arithmetic is float32: a kernel widens its
// inputs and rounds its outputs once.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "kernels/common/bits.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace ttt::kernels {

struct Bfloat16 {  // 8 bits of exponent, 7 of mantissa: the upper half of a float32
  std::uint16_t bits;
};
struct Float16 {  // IEEE 754 binary16: 5 bits of exponent, 10 of mantissa
  std::uint16_t bits;
};

// Exact.
TTT_HD inline float widen(float v) { return v; }
TTT_HD inline float widen(Bfloat16 v) { return float_of(static_cast<std::uint32_t>(v.bits) << 16); }
TTT_HD inline float widen(Float16 v) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(v.bits));
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(v.bits & 0x8000) << 16, rest = v.bits & 0x7FFFu;
  if (rest >= 0x7C00) return float_of(sign | 0x7F800000 | rest << 13);      // infinite or not a number
  if (rest >= 0x0400) return float_of(sign | ((rest << 13) + 0x38000000));  // 112 more in the exponent
  return float_of(sign | bits_of(static_cast<float>(rest) * 0x1p-24f));
#endif
}

// To the nearest, ties to even; a NaN stays one.
template <class T>
TTT_HD T narrow(float v);
template <>
TTT_HD inline float narrow<float>(float v) {
  return v;
}
template <>
TTT_HD inline Bfloat16 narrow<Bfloat16>(float v) {
#ifdef __CUDA_ARCH__
  return {__bfloat16_as_ushort(__float2bfloat16_rn(v))};
#else
  const std::uint32_t bits = bits_of(v);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
#endif
}
template <>
TTT_HD inline Float16 narrow<Float16>(float v) {
#ifdef __CUDA_ARCH__
  return {__half_as_ushort(__float2half_rn(v))};
#else
  const std::uint32_t bits = bits_of(v), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  std::uint32_t half = 0;
  if (rest > 0x7F800000)
    half = 0x7E00;
  else if (rest >= 0x477FF000)
    half = 0x7C00;  // from 65520 on the nearest is infinite
  else if (rest >= 0x38800000)
    half = (rest - 0x38000000 + 0xFFF + (rest >> 13 & 1)) >> 13;
  else
    half = bits_of(float_of(rest) + 0.5f) - bits_of(0.5f);  // below 2^-14 the places are those of 0.5
  return {static_cast<std::uint16_t>(sign | half)};
#endif
}

}  // namespace ttt::kernels
