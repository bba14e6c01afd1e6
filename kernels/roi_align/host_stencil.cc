#include "kernels/roi_align/host_stencil.h"

#if TTT_SIMD_X86
#include <immintrin.h>
#endif

#define TTT_SIMD_BODY "kernels/roi_align/host_stencil.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {

StencilLoop stencil_loop(Isa isa) {
#if TTT_SIMD_X86
  if (isa == Isa::kAvx512) return avx512::stencil;
  if (isa == Isa::kAvx2) return avx2::stencil;
#endif
  (void)isa;
  return base::stencil;
}

}  // namespace ttt::kernels::host
