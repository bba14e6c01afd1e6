#include "kernels/nms/host_loops.h"

#include <limits>

#if TTT_SIMD_X86
#include <immintrin.h>
#endif

#define TTT_SIMD_BODY "kernels/nms/host_loops.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {
constexpr std::int64_t kPadding = 16;  // the widest vector
}

KeptBoxes::KeptBoxes(std::int64_t capacity)
    : x1(capacity + kPadding), y1(x1.size()), x2(x1.size()), y2(x1.size()), area(x1.size()) {
  size = capacity;
  clear();
}

void KeptBoxes::clear() {
  for (std::int64_t i = 0; i < size + kPadding && i < static_cast<std::int64_t>(x1.size()); ++i) {
    x1[i] = y1[i] = std::numeric_limits<float>::max();
    x2[i] = y2[i] = std::numeric_limits<float>::lowest();
    area[i] = 1.0f;
  }
  size = 0;
}

void KeptBoxes::add(const float* box, float extra) {
  x1[size] = box[0], y1[size] = box[1], x2[size] = box[2], y2[size] = box[3];
  area[size] = (box[2] - box[0] + extra) * (box[3] - box[1] + extra);
  ++size;
}

OverlapsLoop overlaps_loop(Isa isa) {
#if TTT_SIMD_X86
  if (isa == Isa::kAvx512) return avx512::overlaps;
  if (isa == Isa::kAvx2) return avx2::overlaps;
#endif
  (void)isa;
  return base::overlaps;
}

}  // namespace ttt::kernels::host
