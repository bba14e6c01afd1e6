#include "ablations/runner/ablation.h"

namespace ttt::ablations {

// Both sides' loaders work ahead during the other's turn. So blocks are longer than what they can hold ready, and a block's first steps, which
// live from that stock, are not counted.
static constexpr int kBlock = 12, kSettle = 4;

Ablation ablate_read_path() {
  const auto path = [](const char* name) { return Variant{.name = name, .change = [name](train::Recipe& r) { r.data.read = name; }}; };
  return {.name = "read_path",
          .question = "What does it cost to read records through HDF5 instead of pread at the dataset's offset?",
          .expectation = "HDF5 takes one lock for all threads and copies through its own layers; small beside decoding.",
          .promise = Promise::kBitwise,
          .variants = {path("pread"), path("hdf5")},
          .block_steps = kBlock,
          .settle_steps = kSettle};
}

}  // namespace ttt::ablations
