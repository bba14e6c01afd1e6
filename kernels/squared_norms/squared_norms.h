// Sums of squares over groups of layers: of gradients, of weights after an update, of what the update added.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

inline constexpr std::int64_t kNormPiece = 1024;
struct NormPiece {
  std::int64_t begin, size;  // in the flat parameters; at most kNormPiece of them
};
struct NormGroups {                 // its members are device pointers on a device
  const NormPiece* piece;           // [pieces] those of a group one after the other
  const std::int64_t* group_begin;  // [groups + 1] a group's first piece; the last is `pieces`
  std::int64_t pieces, groups;
};
struct SquaredNorms {
  double gradient, weight, change;
};

// Double precision: gradients of 1e-20 count, and the error does not grow with the number of parameters. Host and
// device add in the same order: 32 sums side by side in each piece, and again over a group's pieces.
//   in:  gradient, before, after: flat arrays of gradients, weights before and weights after. `before` may be null, and
//        both of them: the sums that need them are then 0.
//   out: out [groups]; partial [pieces] is scratch
namespace host {
void squared_norms(
    const NormGroups& groups, const float* gradient, const float* before, const float* after, SquaredNorms* out);
}
namespace cuda {
void squared_norms(const NormGroups& groups, const float* gradient, const float* before, const float* after,
    SquaredNorms* partial, SquaredNorms* out, cudaStream_t stream);
}

}  // namespace ttt::kernels
