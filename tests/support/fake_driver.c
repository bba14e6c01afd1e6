/* A libcuda.so.1 for tests: as many GPUs as FAKE_CUDA_DEVICES says, of which CUDA_VISIBLE_DEVICES leaves those that
   it lists by number, in its order. The bus id of GPU i is "0000:0i:00.0", as in tests/support/fake_nvml.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int visible[16], count = 0;

int cuInit(unsigned flags) {
  const char *all = getenv("FAKE_CUDA_DEVICES"), *list = getenv("CUDA_VISIBLE_DEVICES");
  char text[64];
  (void)flags, count = 0;
  if (!all) return 100; /* CUDA_ERROR_NO_DEVICE */
  if (!list) {
    for (; count < atoi(all); ++count) visible[count] = count;
    return 0;
  }
  snprintf(text, sizeof text, "%s", list);
  for (char* word = strtok(text, ","); word; word = strtok(NULL, ",")) visible[count++] = atoi(word);
  return 0;
}
int cuDeviceGetCount(int* n) { return (*n = count), 0; }
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  if (device < 0 || device >= count) return 101; /* CUDA_ERROR_INVALID_DEVICE */
  return snprintf(id, (size_t)length, "0000:%02x:00.0", visible[device]) < 0;
}
