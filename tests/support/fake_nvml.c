/* A libnvidia-ml.so.1 for tests: as many GPUs as FAKE_NVML_DEVICES says; FAKE_NVML_ECC uncorrected errors and
   FAKE_NVML_REASONS on the last of them. The bus id of GPU i is "0000:0i:00.0". Power alternates between 300 and 500
   W from question to question, and each question for the energy finds 2000 J more. */
#include <stdio.h>
#include <stdlib.h>

static int number(const char* name) { return getenv(name) ? atoi(getenv(name)) : 0; }

int nvmlInit_v2(void) { return getenv("FAKE_NVML_DEVICES") ? 0 : 9; /* NVML_ERROR_DRIVER_NOT_LOADED */ }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return snprintf(text, length, "570.0-test") < 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return (*count = (unsigned)number("FAKE_NVML_DEVICES")), 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return (*device = (void*)(size_t)(index + 1)), 0; }
int nvmlDeviceGetName(void* device, char* text, unsigned length) {
  return (void)device, snprintf(text, length, "Fake GPU") < 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  return (void)device, memory[0] = 80ull << 30, memory[1] = memory[2] = 40ull << 30, 0;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  return (void)device, (void)sensor, *celsius = 50, 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  unsigned index = 0;
  if (sscanf(id, "0000:%x:00.0", &index) != 1 || (int)index >= number("FAKE_NVML_DEVICES"))
    return 6; /* NVML_ERROR_NOT_FOUND */
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  static unsigned asked = 0;
  return (void)device, *milliwatts = asked++ % 2 ? 500000 : 300000, 0;
}
int nvmlDeviceGetClockInfo(void* device, int which, unsigned* mhz) {
  return (void)device, *mhz = which == 1 ? 1980 : 1, 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  return (void)device, rates[0] = 97, rates[1] = 3, 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long asked = 0;
  return (void)device, *millijoules = 1000000 + 2000000 * asked++, 0;
}

static int last(void* device) { return (size_t)device == (size_t)number("FAKE_NVML_DEVICES"); }
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* count) {
  return *count = type == 1 && counter == 0 && last(device) ? (unsigned long long)number("FAKE_NVML_ECC") : 0, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return *reasons = last(device) ? (unsigned long long)number("FAKE_NVML_REASONS") : 1, 0;
}
