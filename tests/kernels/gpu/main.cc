// main() of tests that need a GPU: without one it skips them and says so.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  const cudaError_t e = cudaGetDeviceCount(&devices);
  if (e != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU here (%s)\n", e == cudaSuccess ? "the driver finds none" : cudaGetErrorString(e));
    return 77;
  }
  return RUN_ALL_TESTS();
}
