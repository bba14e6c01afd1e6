#include "kernels/common/box_math.h"

namespace ttt::kernels::host {

void encode_boxes(const BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas) {
  for (std::int64_t i = 0; i < n; ++i) encode_box(p, gt + 4 * i, reference + 4 * i, deltas + 4 * i);
}

void decode_boxes(const BoxCoderParams& p, std::int64_t n, const float* deltas, const float* reference, float* boxes) {
  for (std::int64_t i = 0; i < n; ++i) decode_box(p, deltas + 4 * i, reference + 4 * i, boxes + 4 * i);
}

}  // namespace ttt::kernels::host
