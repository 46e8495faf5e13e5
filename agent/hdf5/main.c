/* paritect-hdf5: reads one HDF5 file for another program, confined, so that libhdf5 never stands in a process that
 * matters. The file is SIZE bytes of standard input from byte AT on; nothing else can be opened.
 *
 *   paritect-hdf5 list AT SIZE    a line a dataset or text, fields parted by tabs:
 *     t INDEX DTYPE SHAPE OFFSET NAME   a dataset: DTYPE as in safetensors, SHAPE as 2x3 ("" a scalar), OFFSET of plain
 *                                       bytes from AT on, or "-": to be read by `read`
 *     u WHY NAME                        one that is not read
 *     a NAME TEXT                       a text attribute of the file itself
 *   paritect-hdf5 read N AT SIZE  the elements of dataset N in C order, little-endian
 *
 * In names and texts, bytes below 0x20, '\\' and 0x7f stand as \xHH. Exit: 0 done, 1 no such file or damaged. Not
 * followed: soft and external links, external files, virtual datasets, filters other than deflate, shuffle and
 * Fletcher's checksum. */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/hdf5/confine.h"
#include "agent/hdf5/part_file.h"

enum { kObjectsMax = 1000000, kTextMax = 4096 };
static const hsize_t kBlockElements = 32768;

struct Walk {
  hid_t file;
  long index;  /* of the next dataset */
  long wanted; /* -1: list */
  int status;
  long objects;
};

static void PutText(const char* text) {
  for (const unsigned char* c = (const unsigned char*)text; *c != 0; ++c) {
    if (*c < 0x20 || *c == '\\' || *c == 0x7f) {
      printf("\\x%02X", *c);
    } else {
      putchar(*c);
    }
  }
}

/* The word of safetensors, or NULL. */
static const char* TypeWord(hid_t type) {
  const size_t size = H5Tget_size(type);
  const H5T_class_t form = H5Tget_class(type);
  if (form == H5T_INTEGER) {
    const int is_signed = H5Tget_sign(type) == H5T_SGN_2;
    if (H5Tget_precision(type) != 8 * size) return NULL;
    switch (size) {
      case 1: return is_signed ? "I8" : "U8";
      case 2: return is_signed ? "I16" : "U16";
      case 4: return is_signed ? "I32" : "U32";
      case 8: return is_signed ? "I64" : "U64";
      default: return NULL;
    }
  }
  if (form == H5T_FLOAT) {
    size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
    if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) return NULL;
    if (size == 2 && exponent == 5 && mantissa == 10) return "F16";
    if (size == 2 && exponent == 8 && mantissa == 7) return "BF16";
    if (size == 4 && exponent == 8 && mantissa == 23) return "F32";
    if (size == 8 && exponent == 11 && mantissa == 52) return "F64";
    return NULL;
  }
  return form == H5T_ENUM && size == 1 ? "BOOL" : NULL; /* h5py writes booleans so */
}

/* Why the dataset is not read, or NULL. */
static const char* Refusal(hid_t set) {
  const hid_t plan = H5Dget_create_plist(set);
  const char* why = NULL;
  if (plan < 0) return "it has no creation properties";
  if (H5Pget_layout(plan) == H5D_VIRTUAL) why = "it is virtual";
  if (H5Pget_external_count(plan) > 0) why = "its data stand in other files";
  const int filters = H5Pget_nfilters(plan);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(plan, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32) {
      why = "it is packed by a filter that is not read";
    }
  }
  H5Pclose(plan);
  return why;
}

/* Where plain little-endian bytes stand in the file; 0: nowhere. */
static int PlainAt(hid_t set, hid_t type, haddr_t* at) {
  const hid_t plan = H5Dget_create_plist(set);
  const int contiguous = plan >= 0 && H5Pget_layout(plan) == H5D_CONTIGUOUS;
  if (plan >= 0) H5Pclose(plan);
  if (!contiguous) return 0;
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_NONE) return 0;
  *at = H5Dget_offset(set);
  return *at != HADDR_UNDEF;
}

static void ListOne(struct Walk* walk, hid_t set, const char* name) {
  const hid_t type = H5Dget_type(set);
  const hid_t space = H5Dget_space(set);
  const char* word = type < 0 ? NULL : TypeWord(type);
  const char* why = Refusal(set);
  hsize_t extents[H5S_MAX_RANK];
  const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, extents, NULL);
  if (why == NULL && word == NULL) why = "its elements are no plain numbers";
  if (why == NULL && (rank < 0 || H5Sget_simple_extent_type(space) == H5S_NULL)) why = "it has no shape";
  if (why != NULL) {
    printf("u\t%s\t", why);
  } else {
    haddr_t at = 0;
    printf("t\t%ld\t%s\t", walk->index, word);
    for (int i = 0; i < rank; ++i) printf("%s%llu", i == 0 ? "" : "x", (unsigned long long)extents[i]);
    if (PlainAt(set, type, &at)) {
      printf("\t%llu\t", (unsigned long long)at);
    } else {
      printf("\t-\t");
    }
  }
  PutText(name);
  putchar('\n');
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
}

/* The next row: a place in the first `outer` dimensions; 0 after the last. */
static int Advance(hsize_t* place, const hsize_t* extents, int outer) {
  for (int i = outer; i-- > 0;) {
    if (++place[i] < extents[i]) return 1;
    place[i] = 0;
  }
  return 0;
}

/* Rows of the last dimension, in parts that fit the buffer. */
static int WriteElements(hid_t set, hid_t type, hid_t space, int rank, const hsize_t* extents) {
  const size_t size = H5Tget_size(type);
  char* buffer = malloc((size_t)kBlockElements * size);
  hsize_t place[H5S_MAX_RANK] = {0};
  hsize_t count[H5S_MAX_RANK];
  int good = buffer != NULL;
  const hsize_t row = rank == 0 ? 1 : extents[rank - 1];
  for (int i = 0; i < rank; ++i) {
    count[i] = 1;
    if (extents[i] == 0) good = good ? 2 : 0; /* nothing to write */
  }
  while (good == 1) {
    for (hsize_t at = 0; at < row && good; at += kBlockElements) {
      const hsize_t take = row - at < kBlockElements ? row - at : kBlockElements;
      const hid_t memory = H5Screate_simple(1, &take, NULL);
      if (rank > 0) {
        place[rank - 1] = at;
        count[rank - 1] = take;
        good = H5Sselect_hyperslab(space, H5S_SELECT_SET, place, NULL, count, NULL) >= 0;
      }
      good = good && memory >= 0 && H5Dread(set, type, memory, space, H5P_DEFAULT, buffer) >= 0;
      good = good && fwrite(buffer, size, (size_t)take, stdout) == take;
      if (memory >= 0) H5Sclose(memory);
    }
    if (rank <= 1 || !Advance(place, extents, rank - 1)) break;
  }
  free(buffer);
  return good != 0;
}

static int ReadOne(hid_t set) {
  const hid_t stored = H5Dget_type(set);
  const hid_t space = H5Dget_space(set);
  hsize_t extents[H5S_MAX_RANK];
  int good = 0;
  if (stored >= 0 && space >= 0 && TypeWord(stored) != NULL && Refusal(set) == NULL) {
    const hid_t type = H5Tcopy(stored);
    const int rank = H5Sget_simple_extent_dims(space, extents, NULL);
    const int ordered = H5Tget_class(type) == H5T_ENUM || H5Tset_order(type, H5T_ORDER_LE) >= 0;
    good = rank >= 0 && ordered && WriteElements(set, type, space, rank, extents);
    H5Tclose(type);
  }
  if (space >= 0) H5Sclose(space);
  if (stored >= 0) H5Tclose(stored);
  return good;
}

static herr_t Visit(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  struct Walk* walk = data;
  if (++walk->objects > kObjectsMax || strlen(name) > kTextMax) {
    walk->status = 1;
    return 1;
  }
  if (info->type != H5O_TYPE_DATASET) return 0;
  if (walk->wanted >= 0 && walk->wanted != walk->index) {
    ++walk->index;
    return 0;
  }
  const hid_t set = H5Dopen2(root, name, H5P_DEFAULT);
  if (set < 0) {
    walk->status = 1;
  } else if (walk->wanted < 0) {
    ListOne(walk, set, name);
  } else {
    walk->status = !ReadOne(set);
    walk->wanted = -2; /* done */
  }
  if (set >= 0) H5Dclose(set);
  ++walk->index;
  return walk->wanted == -2 || walk->status != 0;
}

/* Short texts: versions. */
static herr_t ListAttribute(hid_t root, const char* name, const H5A_info_t* info, void* data) {
  (void)info;
  (void)data;
  const hid_t attribute = H5Aopen(root, name, H5P_DEFAULT);
  const hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
  if (type >= 0 && H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type)) {
    const size_t size = H5Tget_size(type);
    char text[kTextMax + 1] = {0};
    if (size <= kTextMax && H5Aget_storage_size(attribute) == size && H5Aread(attribute, type, text) >= 0) {
      printf("a\t");
      PutText(name);
      putchar('\t');
      PutText(text);
      putchar('\n');
    }
  }
  if (type >= 0) H5Tclose(type);
  if (attribute >= 0) H5Aclose(attribute);
  return 0;
}

/* A decimal number; 0: it is none. */
static int ReadNumber(const char* text, uint64_t* number) {
  char* end = NULL;
  *number = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == 0;
}

int main(int argc, char** argv) {
  struct Walk walk = {-1, 0, -1, 0, 0};
  uint64_t at = 0, size = 0, wanted = 0;
  const int reads = argc == 5 && strcmp(argv[1], "read") == 0 && ReadNumber(argv[2], &wanted);
  const int lists = argc == 4 && strcmp(argv[1], "list") == 0;
  if ((!reads && !lists) || !ReadNumber(argv[argc - 2], &at) || !ReadNumber(argv[argc - 1], &size)) {
    fprintf(stderr, "usage: paritect-hdf5 list AT SIZE | read N AT SIZE < FILE\n");
    return 2;
  }
  if (reads) walk.wanted = (long)wanted;
  LimitResources();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  H5PLset_loading_state(0);
  const hid_t access = AccessToPart(STDIN_FILENO, at, size);
  ForbidSystemCalls();
  /* An absolute name: of a relative one the library asks where it stands. */
  walk.file = access < 0 ? -1 : H5Fopen("/standard input", H5F_ACC_RDONLY, access);
  if (walk.file < 0) return 1;
  if (walk.wanted < 0) {
    hsize_t place = 0;
    H5Aiterate2(walk.file, H5_INDEX_NAME, H5_ITER_INC, &place, &ListAttribute, NULL);
  }
  if (H5Ovisit(walk.file, H5_INDEX_NAME, H5_ITER_INC, &Visit, &walk) < 0) walk.status = 1;
  if (walk.wanted >= 0) walk.status = 1; /* no such dataset */
  if (fflush(stdout) != 0) walk.status = 1;
  _exit(walk.status); /* the library's own end would write, were there anything to write */
}
