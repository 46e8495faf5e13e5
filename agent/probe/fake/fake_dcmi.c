/* A made-up libdcmi.so for tests. FAKE chooses what it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_A2 1
#define FAKE_A3 2
#define FAKE_950 3
#define FAKE_8005 4   /* init refuses, as in a container without the device */
#define FAKE_HANGS 5  /* for ever, in init */
#define FAKE_CRASHES 6
#define FAKE_GARBAGE 7 /* prints, and gives names that are no text */
#define FAKE_OLD 8     /* only the older functions */
#define FAKE_FLOOD 9   /* more devices than there can be */

int dcmi_init(void) {
#if FAKE == FAKE_8005
  return -8005;
#elif FAKE == FAKE_HANGS
  for (;;) pause();
#elif FAKE == FAKE_CRASHES
  abort();
#endif
  return 0;
}

int dcmi_get_driver_version(char* text, unsigned size) {
  snprintf(text, size, "24.1.rc3");
  return 0;
}

#if FAKE == FAKE_OLD
int dcmi_get_card_num_list(int* count, int* cards, int size) {
#else
int dcmi_get_card_list(int* count, int* cards, int size) {
#endif
  *count = FAKE == FAKE_FLOOD ? 1 << 30 : 2;
  for (int i = 0; i < *count && i < size; ++i) cards[i] = i;
  return 0;
}

/* The last device of a card is its management controller. */
int dcmi_get_device_num_in_card(int card, int* count) {
  (void)card;
  *count = FAKE == FAKE_FLOOD ? 1 << 30 : 2;
  return 0;
}

int dcmi_get_device_type(int card, int device, int* type) {
  (void)card;
  *type = FAKE == FAKE_A3 || device == 0 ? 0 : 1;
  return 0;
}

#if FAKE == FAKE_OLD
int dcmi_get_device_chip_info(int card, int device, char* chip) {
#else
int dcmi_get_device_chip_info_v2(int card, int device, char* chip) {
#endif
  static const char* const kNames[][2] = {{"910B3", "910B3"},       {"Ascend910", "9392"}, {"Ascend950PR", "9579"},
                                          {"910B3", "910B3"},       {"910B3", "910B3"},    {"910B3", "910B3"},
                                          {"91\n0B3\t\xff", "\x01"}, {"910A", "910A"},      {"910B3", "910B3"}};
  (void)card;
  (void)device;
  strcpy(chip, "Ascend");
  strcpy(chip + 32, kNames[FAKE - 1][0]);
  strcpy(chip + 64, "V1");
  *(unsigned*)(void*)(chip + 96) = 20;
#if FAKE != FAKE_OLD
  strcpy(chip + 100, kNames[FAKE - 1][1]);
#endif
#if FAKE == FAKE_GARBAGE
  printf("[WARNING] the library talks\nend\t\n");
  memset(chip + 64, 'x', 32); /* no end */
#endif
  return 0;
}

int dcmi_get_device_pcie_info_v2(int card, int device, unsigned* info) {
  const unsigned ids[] = {0xd802, 0xd803, 0xd806, 0xd802, 0xd802, 0xd802, 0xd802, 0xd801, 0xd802};
  (void)device;
  info[0] = 0x19e5;
  info[2] = ids[FAKE - 1];
  info[5] = 0xc1 + (unsigned)card;
  return 0;
}

int dcmi_get_device_health(int card, int device, unsigned* health) {
  (void)device;
  *health = (unsigned)card;
  return 0;
}

int dcmi_get_device_resource_info(int card, int device, void* processes, int* count) {
  (void)device;
  *count = 1;
  *(int*)processes = 4000 + card;
  return 0;
}
