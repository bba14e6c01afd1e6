/* A libcuda.so.1 for tests: as many devices as FAKE_CUDA_DEVICES says; without it, a driver that finds none. */
#include <stdlib.h>

int cuInit(unsigned flags) {
  (void)flags;
  return getenv("FAKE_CUDA_DEVICES") ? 0 : 100; /* CUDA_ERROR_NO_DEVICE */
}

int cuDeviceGetCount(int* count) {
  *count = atoi(getenv("FAKE_CUDA_DEVICES"));
  return 0;
}
