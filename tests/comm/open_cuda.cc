// Opens the CUDA library as a program does, for expect_exit.sh.
#include <cstdio>

#include "core/error.h"
#include "cuda/loader.h"

int main() {
  try {
    const auto library = ttt::cuda::open_cuda_library();
    std::printf("%d devices, %s\n", library->devices(), library->versions().c_str());
  } catch (const ttt::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return e.exit_code();
  }
}
