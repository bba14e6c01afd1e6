#include "kernels/match/host_loops.h"

#if TTT_SIMD_X86
#include <immintrin.h>
#endif

#define TTT_SIMD_BODY "kernels/match/host_loops.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {

MatchLoops match_loops(Isa isa) {
#if TTT_SIMD_X86
  if (isa == Isa::kAvx512) return {avx512::iou, avx512::update};
  if (isa == Isa::kAvx2) return {avx2::iou, avx2::update};
#endif
  (void)isa;
  return {base::iou, base::update};
}

}  // namespace ttt::kernels::host
