/* DCMI, libdcmi.so. Declarations after the vendor's DCMI API reference and mind-cluster's dcmi_interface_api.h. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/probe/old_c_library.h"
#include "agent/probe/probe.h"

#define CARDS_MAX 64
#define UNIT_NPU 0

typedef struct {
  char type[32], name[32], version[32];
  unsigned aicores;
  char npu_name[32]; /* v2 only */
} chip_t;
typedef struct {
  unsigned vendor, subvendor, device, subdevice;
  int domain;
  unsigned bus, slot, function;
} pcie_t;
typedef struct {
  unsigned long long size_mb;
  unsigned mhz;
  unsigned long long used_mb;
  int celsius;
  unsigned bandwidth;
} hbm_t;
typedef struct {
  unsigned board, pcb, bom, slot;
} board_t;
typedef struct {
  int pid;
  unsigned long memory;
} process_t;
typedef union {
  chip_t chip;
  pcie_t pcie;
  hbm_t hbm;
  board_t board;
  char room[PROBE_STRUCT_BYTES];
} answer_t;

typedef int (*init_f)(void);
typedef int (*text_f)(char*, unsigned);
typedef int (*cards_f)(int*, int*, int);
typedef int (*devices_f)(int, int*);
typedef int (*ids_f)(int, int*, int*, int*);
typedef int (*type_f)(int, int, int*);
typedef int (*answer_f)(int, int, void*);
typedef int (*processes_f)(int, int, process_t*, int*);

#define FIND(type, ...) ((type)probe_find(library, (const char* const[]){__VA_ARGS__, NULL}))

static const char* error_words(int code) {
  switch (code) {
    case -8005: return "the device is not visible here (not mapped into this container?)";
    case -8020: return "the device is used by another container";
    case -8255: return "not supported";
    case -8002: return "no permission";
    case -99998: return "the function is missing in the library";
    case -99999: return "the library is missing";
    default: return NULL;
  }
}

static int answer(answer_f ask, int card, int device, answer_t* room) {
  memset(room, 0, sizeof(*room));
  const int code = ask == NULL ? -99998 : ask(card, device, room);
  room->room[sizeof(room->room) - 1] = '\0';
  return code;
}

static void say_chip(void* library, int card, int device) {
  answer_t room;
  char text[96];
  answer_f ask = FIND(answer_f, "dcmi_get_device_chip_info_v2");
  const int second = ask != NULL;
  if (!second) ask = FIND(answer_f, "dcmi_get_device_chip_info");
  const int code = answer(ask, card, device, &room);
  if (code != 0) return probe_refused("dcmi_get_device_chip_info_v2", error_words(code), code);
  room.chip.type[31] = room.chip.name[31] = room.chip.version[31] = '\0';
  snprintf(text, sizeof(text), "%s", room.chip.name);
  probe_say("chip_name", text);
  probe_say("chip_type", room.chip.type);
  probe_say("chip_version", room.chip.version);
  probe_say_number("aicores", room.chip.aicores);
  if (!second) return;
  room.chip.npu_name[31] = '\0';
  probe_say("npu_name", room.chip.npu_name);
}

static void say_place(void* library, int card, int device) {
  answer_t room;
  char text[64];
  if (answer(FIND(answer_f, "dcmi_get_device_pcie_info_v2"), card, device, &room) == 0) {
    snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", (unsigned)room.pcie.domain & 0xffff, room.pcie.bus & 0xff,
             room.pcie.slot & 0xff, room.pcie.function & 0xf);
    probe_say("pci_address", text);
    snprintf(text, sizeof(text), "%04x:%04x", room.pcie.vendor & 0xffff, room.pcie.device & 0xffff);
    probe_say("pci_id", text);
  }
  if (answer(FIND(answer_f, "dcmi_get_device_board_info"), card, device, &room) == 0) {
    snprintf(text, sizeof(text), "0x%x", room.board.board);
    probe_say("board_id", text);
  }
  if (answer(FIND(answer_f, "dcmi_get_device_hbm_info"), card, device, &room) == 0) {
    probe_say_number("memory_bytes", room.hbm.size_mb << 20);
  }
}

static void say_state(void* library, int card, int device) {
  static const char* const kHealth[] = {"OK", "Warning", "Alarm", "Critical"};
  process_t processes[PROBE_PROCESSES_MAX];
  int count = PROBE_PROCESSES_MAX;
  unsigned health = 0;
  answer_f ask = FIND(answer_f, "dcmi_get_device_health");
  if (ask != NULL && ask(card, device, &health) == 0) probe_say("health", health < 4 ? kHealth[health] : "UNKNOWN");
  processes_f list = FIND(processes_f, "dcmi_get_device_resource_info");
  memset(processes, 0, sizeof(processes));
  if (list == NULL || list(card, device, processes, &count) != 0 || count > PROBE_PROCESSES_MAX) return;
  for (int i = 0; i < count; ++i) {
    if (processes[i].pid > 0) probe_say_number("process", (unsigned long long)processes[i].pid);
  }
}

static int devices_of(void* library, int card) {
  int count = 0, mcu = -1, cpu = -1;
  ids_f ids = FIND(ids_f, "dcmi_get_device_id_in_card");
  if (ids != NULL && ids(card, &count, &mcu, &cpu) == 0) return count;
  devices_f number = FIND(devices_f, "dcmi_get_device_num_in_card");
  const int code = number == NULL ? -99998 : number(card, &count);
  if (code == 0) return count;
  probe_refused("dcmi_get_device_num_in_card", error_words(code), code);
  return 0;
}

static void say_card(void* library, int card, unsigned long long* seen) {
  const int devices = devices_of(library, card);
  type_f get_type = FIND(type_f, "dcmi_get_device_type");
  for (int device = 0; device < devices && device < PROBE_DEVICES_MAX && *seen < PROBE_DEVICES_MAX; ++device) {
    int type = UNIT_NPU;
    /* The management controller of a card is listed beside its NPUs. */
    if (get_type != NULL && get_type(card, device, &type) == 0 && type != UNIT_NPU) continue;
    probe_say_number("device", (*seen)++);
    probe_say_number("card", (unsigned long long)card);
    say_chip(library, card, device);
    say_place(library, card, device);
    say_state(library, card, device);
  }
}

int probe_dcmi(void* library) {
  int cards[CARDS_MAX] = {0};
  int count = 0;
  char text[PROBE_TEXT_MAX] = "";
  init_f init = FIND(init_f, "dcmi_init");
  cards_f list = FIND(cards_f, "dcmi_get_card_list", "dcmi_get_card_num_list");
  if (init == NULL || list == NULL) {
    probe_refused("dlsym", "the library lacks dcmi_init or the card list", 0);
    return 1;
  }
  int code = init();
  if (code != 0) {
    probe_refused("dcmi_init", error_words(code), code);
    return 1;
  }
  text_f driver = FIND(text_f, "dcmi_get_driver_version");
  if (driver != NULL && driver(text, sizeof(text) - 1) == 0) probe_say("driver_version", text);
  text_f own = FIND(text_f, "dcmi_get_dcmi_version");
  if (own != NULL && own(text, sizeof(text) - 1) == 0) probe_say("library_version", text);
  code = list(&count, cards, CARDS_MAX);
  if (code != 0) {
    probe_refused("dcmi_get_card_list", error_words(code), code);
    return 1;
  }
  unsigned long long seen = 0;
  for (int i = 0; i < count && i < CARDS_MAX; ++i) say_card(library, cards[i], &seen);
  return 0;
}
