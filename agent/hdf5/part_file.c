#include "agent/hdf5/part_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Source: HDF Group, "HDF5 Virtual File Layer"; H5FDpublic.h of 1.10. */
struct PartFile {
  H5FD_t base; /* first: the library fills it */
  haddr_t end; /* of what it may ask for */
};

static struct {
  int descriptor;
  uint64_t offset;
  uint64_t size;
  int opened;
} part;

static H5FD_t* Open(const char* name, unsigned flags, hid_t access, haddr_t address_max) {
  (void)name;
  (void)access;
  (void)address_max;
  if (part.opened || (flags & H5F_ACC_RDWR) != 0) return NULL;
  struct PartFile* file = calloc(1, sizeof(*file));
  part.opened = file != NULL;
  return file == NULL ? NULL : &file->base;
}

static herr_t Close(H5FD_t* file) {
  free(file);
  return 0;
}

static herr_t Query(const H5FD_t* file, unsigned long* features) {
  (void)file;
  *features = H5FD_FEAT_ACCUMULATE_METADATA_READ | H5FD_FEAT_DATA_SIEVE;
  return 0;
}

static haddr_t EndOfAddresses(const H5FD_t* file, H5FD_mem_t type) {
  (void)type;
  return ((const struct PartFile*)file)->end;
}

static herr_t SetEndOfAddresses(H5FD_t* file, H5FD_mem_t type, haddr_t end) {
  (void)type;
  ((struct PartFile*)file)->end = end;
  return 0;
}

static haddr_t EndOfFile(const H5FD_t* file, H5FD_mem_t type) {
  (void)file;
  (void)type;
  return part.size;
}

/* Beyond the end the library expects zeros. */
static herr_t Read(H5FD_t* file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, void* buffer) {
  (void)file;
  (void)type;
  (void)transfer;
  char* out = buffer;
  size_t left = at < part.size ? (size < part.size - at ? size : (size_t)(part.size - at)) : 0;
  memset(out + left, 0, size - left);
  while (left > 0) {
    const ssize_t got = pread(part.descriptor, out, left, (off_t)(part.offset + at));
    if (got <= 0) return -1;
    out += got;
    at += (haddr_t)got;
    left -= (size_t)got;
  }
  return 0;
}

static herr_t Write(H5FD_t* file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, const void* buffer) {
  (void)file;
  (void)type;
  (void)transfer;
  (void)at;
  (void)size;
  (void)buffer;
  return -1;
}

hid_t AccessToPart(int descriptor, uint64_t offset, uint64_t size) {
  static const H5FD_class_t driver = {
      .name = "part",
      .maxaddr = INT64_MAX,
      .fc_degree = H5F_CLOSE_WEAK,
      .open = &Open,
      .close = &Close,
      .query = &Query,
      .get_eoa = &EndOfAddresses,
      .set_eoa = &SetEndOfAddresses,
      .get_eof = &EndOfFile,
      .read = &Read,
      .write = &Write,
      .fl_map = H5FD_FLMAP_SINGLE,
  };
  if (offset > INT64_MAX || size > INT64_MAX - offset) return -1;
  part.descriptor = descriptor;
  part.offset = offset;
  part.size = size;
  const hid_t id = H5FDregister(&driver);
  const hid_t access = id < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);
  if (access < 0 || H5Pset_driver(access, id, NULL) < 0) return -1;
  return access;
}
