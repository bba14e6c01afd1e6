// Kernels with one mistake each, and what each should have been.
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

// out[i] = in[i] + in[i + 1 mod 64] for 64 numbers by one block, or something like it: see planted.cu. workspace: 64 floats; counter: 1.
// With kNone and n = 0, 1, ... the right version of the kernel in which mistake n is planted.
void run(Mistake mistake, float* in, float* out, float* workspace, int* counter, int grid = 1);

}  // namespace planted
