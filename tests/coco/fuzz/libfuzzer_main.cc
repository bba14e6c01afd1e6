// Coverage-guided search with clang:
//   cmake -DCMAKE_CXX_COMPILER=clang++ -DTTT_SANITIZE=fuzzer-no-link,address,undefined -DTTT_TORCH=OFF ...
//   TTT_FUZZ_TARGET=results build/tests/coco_libfuzzer corpus/results tests/coco/fuzz/corpus/results
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/coco/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ttt::test::FuzzTarget target = [] {
    const char* name = std::getenv("TTT_FUZZ_TARGET");
    const auto found = ttt::test::fuzz_target(name ? name : "");
    if (!found) {
      std::fprintf(stderr, "Set TTT_FUZZ_TARGET to rle, instances, results or serialised.\n");
      std::exit(2);
    }
    return found;
  }();
  target({reinterpret_cast<const char*>(data), size});
  return 0;
}
