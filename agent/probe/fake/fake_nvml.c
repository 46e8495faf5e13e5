/* A made-up libnvidia-ml.so.1 for tests. MISMATCH: as after a driver upgrade without restart. */
#include <stdio.h>
#include <string.h>

static int handles[2];

#ifdef MISMATCH
int nvmlInit_v2(void) { return 18; }
#else
int nvmlInit_v2(void) { return 0; }
#endif
const char* nvmlErrorString(int code) { return code == 18 ? "Driver/library version mismatch" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return snprintf(text, size, "535.104.05") < 0; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &handles[index];
  return 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  (void)device;
  return snprintf(text, size, "NVIDIA A100-SXM4-80GB") < 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return snprintf(text, size, "GPU-0000000%d", (int)((int*)device - handles)) < 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, unsigned* info) {
  info[4] = 0;
  info[5] = 0x17u + (unsigned)((int*)device - handles);
  info[6] = 0;
  info[7] = 0x20b210deu;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  (void)device;
  memory[0] = 85899345920ull;
  return 0;
}
int nvmlDeviceGetEccMode(void* device, int* now, int* later) {
  (void)device;
  *now = *later = 1;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  (void)device;
  *major = 8;
  *minor = 0;
  return 0;
}
