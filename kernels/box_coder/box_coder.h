// Box regression targets and their inverse (Girshick 2015).
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

struct BoxCoderParams {
  float wx = 1, wy = 1, ww = 1, wh = 1;
  float clamp = 4.135166556742356f;  // log(1000 / 16)
  bool legacy = false;
};

// encode: the deltas dx, dy, dw, dh that move `reference` onto `gt`; decode: the inverse. All arrays are [n, 4].
namespace host {
void encode_boxes(const BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas);
void decode_boxes(const BoxCoderParams& p, std::int64_t n, const float* deltas, const float* reference, float* boxes);
}  // namespace host
namespace cuda {
void encode_boxes(const BoxCoderParams& p, std::int64_t n, const float* gt, const float* reference, float* deltas,
                  cudaStream_t stream);
void decode_boxes(const BoxCoderParams& p, std::int64_t n, const float* deltas, const float* reference, float* boxes,
                  cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
