#include "kernels/adam/values.h"
#include "kernels/common/simd.h"

#define TTT_SIMD_BODY "kernels/adam/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {

void adam(const AdamRule& rule, const AdamTensor* tensors, std::int64_t count, std::int64_t /*largest*/,
    const AdamControl& control) {
  if (control.skip != nullptr && *control.skip != 0) return;
  const auto run = TTT_PICK(best_isa(), update);
  for (std::int64_t i = 0; i < count; ++i) run(adam_values(rule, tensors[i], control), tensors[i]);
}

}  // namespace ttt::kernels::host
