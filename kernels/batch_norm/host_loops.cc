#include "kernels/batch_norm/host_loops.h"

#if TTT_SIMD_X86
#include <immintrin.h>
#endif

#define TTT_SIMD_BODY "kernels/batch_norm/host_loops.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {

BatchNormLoops batch_norm_loops(Isa isa) {
#if TTT_SIMD_X86
  if (isa == Isa::kAvx512) return {avx512::bn::sum, avx512::bn::square, avx512::bn::apply, avx512::bn::backward_sums, avx512::bn::backward_apply};
  if (isa == Isa::kAvx2) return {avx2::bn::sum, avx2::bn::square, avx2::bn::apply, avx2::bn::backward_sums, avx2::bn::backward_apply};
#endif
  (void)isa;
  return {base::bn::sum, base::bn::square, base::bn::apply, base::bn::backward_sums, base::bn::backward_apply};
}

}  // namespace ttt::kernels::host
