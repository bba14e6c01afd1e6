// Kernels with one mistake each, and their correct versions.
#pragma once

#include <cstdint>

namespace planted {

enum class Mistake {
  kNone,
  kWriteBehindTheEnd,
  kWriteBeforeTheBeginning,
  kReadBehindTheEnd,
  kWriteToAnInput,
  kMisaligned,
  kMissingBarrier,
  kBarrierForSome,
  kBarriersAtTwoPlaces,
  kEndBeforeTheBarrier,
  kUnwrittenShared,
  kUnwrittenWorkspace,
  kSharedBehindTheEnd,
  kWriteAfterRead,
  kPlainCounter,
  kPlainBesideAtomic,
  kBlocksMeet,
  kMaskLeavesCallerOut,
  kMaskLeavesSourceOut,
  kMaskNamesAbsentLanes,
  kOrderOfAtomics,
};

// out[i] = in[i] + in[i + 1 mod 64] for 64 numbers by one block, or a variant of it: see planted.cu. With kNone and n =
// 0, 1, ... the correct version of the kernel with mistake n.
// in: workspace [64], counter [1]
void run(Mistake mistake, float* in, float* out, float* workspace, int* counter, int grid = 1);

}  // namespace planted
