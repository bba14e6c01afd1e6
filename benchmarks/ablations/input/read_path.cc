#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_read_path() {
  const auto path = [](const char* name) {
    return Variant{.name = name, .change = [name](train::Recipe& r) { r.data.workers = 0, r.data.read = name; }};
  };
  return {.name = "read_path",
      .question = "What does it cost to read records through HDF5 instead of pread at the dataset's offset?",
      .claim = "none known",
      .expectation =
          "HDF5 takes one lock for all threads and copies through its own layers; small beside decoding. Measured "
          "with inline loading, where nothing hides it.",
      .promise = Promise::kBitwise,
      .variants = {path("pread"), path("hdf5")}};
}

}  // namespace ttt::ablations
