// The inner loop of RoIAlign, forward and backward: dst[y, x, :] (+)= sum over taps of wy * wx * src[ty, tx, :].
//
// Bilinear sampling and averaging are separable, so a RoI is two short lists of taps per axis, the same for all
// channels. Forward gathers feature pixels into bins; backward gathers bins into feature pixels with the transposed
// lists: every destination is read and written once, in a fixed order, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/simd.h"
#include "kernels/roi_align/taps.h"

namespace ttt::kernels::host {

// Output o in [0, outputs) gathers taps[begin[o] .. begin[o + 1]).
struct TapLists {
  std::int32_t outputs;
  const std::int32_t* begin;
  const Tap* taps;
};

struct Stencil {
  TapLists y, x;
  const float* src;
  float* dst;
  std::ptrdiff_t src_row, src_column, dst_row, dst_column;  // in floats
  std::int64_t channels;                                    // contiguous
  bool add;                                                 // to what dst holds, else replace it
};

using StencilLoop = void (*)(const Stencil&);
StencilLoop stencil_loop(Isa isa);

}  // namespace ttt::kernels::host
