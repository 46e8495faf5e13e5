/* NVML, libnvidia-ml.so.1. Declarations after NVIDIA's NVML API reference; each function is looked for by its newest
 * name first, and every one but init and count may be absent. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/probe/old_c_library.h"
#include "agent/probe/probe.h"

typedef void* device_t;
typedef union {
  struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_and_vendor, subsystem;
  } pci;
  struct {
    unsigned long long total, free, used;
  } memory;
  char room[PROBE_STRUCT_BYTES];
} answer_t;
/* nvmlProcessInfo_v2_t: the first field is the process. */
typedef struct {
  unsigned pid;
  unsigned long long memory_used;
  unsigned gpu_instance, compute_instance;
} process_t;

typedef int (*init_f)(void);
typedef const char* (*error_f)(int);
typedef int (*text_f)(char*, unsigned);
typedef int (*number_f)(int*);
typedef int (*count_f)(unsigned*);
typedef int (*handle_f)(unsigned, device_t*);
typedef int (*device_text_f)(device_t, char*, unsigned);
typedef int (*device_answer_f)(device_t, void*);
typedef int (*device_two_f)(device_t, int*, int*);
typedef int (*device_processes_f)(device_t, unsigned*, process_t*);

#define FIND(type, ...) ((type)probe_find(library, (const char* const[]){__VA_ARGS__, NULL}))

static void say_texts(void* library, device_t device) {
  static const char* const kTexts[][2] = {
      {"name", "nvmlDeviceGetName"}, {"uuid", "nvmlDeviceGetUUID"}, {"vbios", "nvmlDeviceGetVbiosVersion"}};
  for (size_t i = 0; i < sizeof(kTexts) / sizeof(kTexts[0]); ++i) {
    char text[PROBE_TEXT_MAX] = "";
    device_text_f ask = FIND(device_text_f, kTexts[i][1]);
    if (ask == NULL) continue;
    const int code = ask(device, text, sizeof(text) - 1);
    if (code == 0) {
      probe_say(kTexts[i][0], text);
    } else if (i == 0) {
      probe_refused(kTexts[i][1], NULL, code);
    }
  }
}

static void say_pci(void* library, device_t device) {
  answer_t answer;
  char text[64];
  device_answer_f ask = FIND(device_answer_f, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2");
  memset(&answer, 0, sizeof(answer));
  if (ask == NULL || ask(device, &answer) != 0) return;
  snprintf(text, sizeof(text), "%04x:%02x:%02x.0", answer.pci.domain, answer.pci.bus, answer.pci.device);
  probe_say("pci_address", text);
  snprintf(text, sizeof(text), "%04x:%04x", answer.pci.device_and_vendor & 0xffff, answer.pci.device_and_vendor >> 16);
  probe_say("pci_id", text);
}

static void say_modes(void* library, device_t device) {
  int first = -1, second = -1;
  char text[64];
  device_two_f ask = FIND(device_two_f, "nvmlDeviceGetCudaComputeCapability");
  if (ask != NULL && ask(device, &first, &second) == 0) {
    snprintf(text, sizeof(text), "%d.%d", first, second);
    probe_say("compute_capability", text);
  }
  ask = FIND(device_two_f, "nvmlDeviceGetEccMode");
  if (ask != NULL && ask(device, &first, &second) == 0) probe_say("ecc", first ? "on" : "off");
  ask = FIND(device_two_f, "nvmlDeviceGetMigMode");
  if (ask != NULL && ask(device, &first, &second) == 0) probe_say("mig", first ? "on" : "off");
  device_answer_f mode = FIND(device_answer_f, "nvmlDeviceGetComputeMode");
  if (mode != NULL && mode(device, &first) == 0) probe_say_number("compute_mode", (unsigned long long)first);
}

static void say_memory_and_processes(void* library, device_t device) {
  answer_t answer;
  process_t processes[PROBE_PROCESSES_MAX];
  unsigned count = PROBE_PROCESSES_MAX;
  device_answer_f memory = FIND(device_answer_f, "nvmlDeviceGetMemoryInfo");
  memset(&answer, 0, sizeof(answer));
  if (memory != NULL && memory(device, &answer) == 0) probe_say_number("memory_bytes", answer.memory.total);
  device_processes_f list = FIND(device_processes_f, "nvmlDeviceGetComputeRunningProcesses_v3",
                                 "nvmlDeviceGetComputeRunningProcesses_v2");
  memset(processes, 0, sizeof(processes));
  if (list == NULL || list(device, &count, processes) != 0 || count > PROBE_PROCESSES_MAX) return;
  for (unsigned i = 0; i < count; ++i) probe_say_number("process", processes[i].pid);
}

static void say_system(void* library) {
  char text[PROBE_TEXT_MAX] = "";
  int version = 0;
  text_f driver = FIND(text_f, "nvmlSystemGetDriverVersion");
  if (driver != NULL && driver(text, sizeof(text) - 1) == 0) probe_say("driver_version", text);
  text_f own = FIND(text_f, "nvmlSystemGetNVMLVersion");
  if (own != NULL && own(text, sizeof(text) - 1) == 0) probe_say("library_version", text);
  number_f cuda = FIND(number_f, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion");
  if (cuda != NULL && cuda(&version) == 0) {
    /* 12040 is 12.4. */
    snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
    probe_say("cuda_driver_version", text);
  }
}

int probe_nvml(void* library) {
  unsigned count = 0;
  init_f init = FIND(init_f, "nvmlInit_v2", "nvmlInit");
  error_f words = FIND(error_f, "nvmlErrorString");
  count_f get_count = FIND(count_f, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  handle_f get_handle = FIND(handle_f, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
  if (init == NULL || get_count == NULL || get_handle == NULL) {
    probe_refused("dlsym", "the library lacks nvmlInit or the device calls", 0);
    return 1;
  }
  int code = init();
  if (code != 0) {
    probe_refused("nvmlInit_v2", words == NULL ? NULL : words(code), code);
    return 1;
  }
  say_system(library);
  code = get_count(&count);
  if (code != 0) {
    probe_refused("nvmlDeviceGetCount_v2", words == NULL ? NULL : words(code), code);
    return 1;
  }
  for (unsigned i = 0; i < count && i < PROBE_DEVICES_MAX; ++i) {
    device_t device = NULL;
    probe_say_number("device", i);
    code = get_handle(i, &device);
    if (code != 0) {
      probe_refused("nvmlDeviceGetHandleByIndex_v2", words == NULL ? NULL : words(code), code);
      continue;
    }
    say_texts(library, device);
    say_pci(library, device);
    say_modes(library, device);
    say_memory_and_processes(library, device);
  }
  return 0;
}
