// Conventions of all operations (kernels/<op>/<op>.h), and the types that their declarations share.
//
// Layout: features are NHWC (channels last). Boxes are x1, y1, x2, y2 float32 in pixels of the padded image. "legacy"
// is the box convention of Detectron and MLPerf's reference: a box covers x2 - x1 + 1 pixels. Arrays have the stated
// fixed shape; entries beyond a count hold the stated filler.
//
// kernels::host is the reference implementation: tests compare the device with it, and runs on CPUs use it.
//   pool: its threads share the work, with the same bits for any number of them; null: the calling thread alone.
// kernels::cuda has the same names, parameters and results, to the bit and at every run. One exception: log2f in the
// choice of a RoI's level, which a device may round differently in the last place.
//   Pointers are device pointers. Work is put on `stream`; no call waits, reads back or allocates.
// workspace: scratch memory of <name>_workspace(p) bytes, aligned to 256; its contents are undefined before and after.
//   Counts are trusted: where the reference implementation refuses a count, the kernel cuts it to the capacity.
// Errors: UsageError for contradictory parameters and for shapes that no device takes, Error for a kernel that does not
// start. Lengths of arrays are the caller's promise.
#pragma once

#include <cstddef>
#include <cstdint>

using cudaStream_t = struct CUstream_st*;  // as the CUDA toolkit declares it

namespace ttt {
class ThreadPool;  // core/parallel.h
}
