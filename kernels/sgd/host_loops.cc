#include "kernels/sgd/host_loops.h"

#if TTT_SIMD_X86
#include <immintrin.h>
#endif

#define TTT_SIMD_BODY "kernels/sgd/host_loops.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {

SgdLoop sgd_loop(Isa isa) {
#if TTT_SIMD_X86
  if (isa == Isa::kAvx512) return avx512::sgd;
  if (isa == Isa::kAvx2) return avx2::sgd;
#endif
  (void)isa;
  return base::sgd;
}

}  // namespace ttt::kernels::host
