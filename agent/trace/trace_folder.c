// Listings of folders, in the order in which the program gets the names.
//
// A folder that is being read has one of a fixed number of slots, found by its DIR*; POSIX has one thread read one DIR,
// so a slot has one user. Names are gathered and written when a slot is full, at the end and at closedir.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace_hooks.h"

#define SLOTS 64
#define SLOT_BYTES 4000

struct Slot {
  DIR* dir;  // NULL: free; taken and given back atomically
  unsigned id;
  uint64_t pid;  // who opened it: a forked child goes on reading, but not recording
  uint64_t count;
  size_t used;
  int ended;
  char names[SLOT_BYTES];
};
static struct Slot slots[SLOTS];
static unsigned used_slots;  // 0: no folder is being recorded, nothing to look for
static unsigned last_id;
static uint64_t names_written;

static DIR* (*next_opendir)(const char*);
static DIR* (*next_fdopendir)(int);
static struct dirent* (*next_readdir)(DIR*);
static struct dirent64* (*next_readdir64)(DIR*);
static void (*next_rewinddir)(DIR*);
static int (*next_closedir)(DIR*);
typedef int (*Filter)(const struct dirent*);
typedef int (*Compare)(const struct dirent**, const struct dirent**);
typedef int (*Filter64)(const struct dirent64*);
typedef int (*Compare64)(const struct dirent64**, const struct dirent64**);
static int (*next_scandir)(const char*, struct dirent***, Filter, Compare);
static int (*next_scandir64)(const char*, struct dirent64***, Filter64, Compare64);
static int (*next_scandirat)(int, const char*, struct dirent***, Filter, Compare);
static int (*next_scandirat64)(int, const char*, struct dirent64***, Filter64, Compare64);

void TraceResolveFolder(void) {
  RESOLVE(opendir);
  RESOLVE(fdopendir);
  RESOLVE(readdir);
  RESOLVE(readdir64);
  RESOLVE(rewinddir);
  RESOLVE(closedir);
  RESOLVE(scandir);
  RESOLVE(scandir64);
  RESOLVE(scandirat);
  RESOLVE(scandirat64);
}

static size_t Head(char kind, unsigned id, char* head) {
  head[0] = kind;
  head[1] = ' ';
  const size_t size = 2 + TraceDecimal(id, head + 2);
  head[size] = ' ';
  return size + 1;
}

static void WriteNames(unsigned id, const char* names, size_t size) {
  char head[32];
  const struct TracePart parts[] = {{head, Head('n', id, head)}, {names, size}};
  TraceWrite(parts, 2);
}

static void WriteEnd(unsigned id, uint64_t count, char how) {
  char tail[64];
  size_t size = Head('e', id, tail);
  size += TraceDecimal(count, tail + size);
  tail[size++] = ' ';
  tail[size++] = how;
  const struct TracePart parts[] = {{tail, size}};
  TraceWrite(parts, 1);
}

static void Flush(struct Slot* slot) {
  if (slot->used > 0) WriteNames(slot->id, slot->names, slot->used);
  slot->used = 0;
}

__attribute__((noinline)) static void Watch(int dirfd, const char* path, DIR* dir) {
  const int error = errno;
  char buffer[TRACE_PATH_MAX];
  const char* data = TraceDataPath(dirfd, path, buffer);
  if (data != NULL) {
    const unsigned id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    TraceWritePath('d', id, data);
    size_t i = 0;
    for (; i < SLOTS; ++i) {
      DIR* free_slot = NULL;
      if (!__atomic_compare_exchange_n(&slots[i].dir, &free_slot, dir, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
      slots[i].id = id;
      slots[i].pid = (uint64_t)syscall(SYS_getpid);
      slots[i].count = 0;
      slots[i].used = 0;
      slots[i].ended = 0;
      __atomic_add_fetch(&used_slots, 1, __ATOMIC_RELAXED);
      break;
    }
    if (i == SLOTS) WriteEnd(id, 0, 'u');
  }
  errno = error;
}

static struct Slot* Find(DIR* dir) {
  if (__atomic_load_n(&used_slots, __ATOMIC_ACQUIRE) == 0 || dir == NULL) return NULL;
  for (size_t i = 0; i < SLOTS; ++i) {
    if (__atomic_load_n(&slots[i].dir, __ATOMIC_ACQUIRE) == dir) return &slots[i];
  }
  return NULL;
}

static int IsDot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static void AddName(struct Slot* slot, const char* name) {
  if (IsDot(name) || slot->ended) return;
  ++slot->count;
  const size_t size = strlen(name);
  if (__atomic_add_fetch(&names_written, 1, __ATOMIC_RELAXED) > TRACE_NAMES_MAX || size + 1 > SLOT_BYTES) {
    slot->ended = 2;
    return;
  }
  if (slot->used + size + 1 > SLOT_BYTES) Flush(slot);
  if (slot->used > 0) slot->names[slot->used++] = '/';
  memcpy(slot->names + slot->used, name, size);
  slot->used += size;
}

// `name` NULL: the folder ended.
static void Got(DIR* dir, const char* name) {
  struct Slot* slot = Find(dir);
  if (slot == NULL) return;
  if (name != NULL) {
    AddName(slot, name);
    return;
  }
  if (slot->ended || slot->pid != (uint64_t)syscall(SYS_getpid)) return;
  Flush(slot);
  WriteEnd(slot->id, slot->count, 'c');
  slot->ended = 1;
}

static void Forget(DIR* dir) {
  struct Slot* slot = Find(dir);
  if (slot == NULL) return;
  if (slot->ended != 1 && slot->pid == (uint64_t)syscall(SYS_getpid)) {
    Flush(slot);
    WriteEnd(slot->id, slot->count, slot->ended == 2 ? 'u' : 'p');
  }
  __atomic_sub_fetch(&used_slots, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->dir, NULL, __ATOMIC_RELEASE);
}

TRACE_EXPORT DIR* opendir(const char* path) {
  NEED(opendir, NULL)
  DIR* dir = next_opendir(path);
  if (dir != NULL && TraceEnabled()) Watch(AT_FDCWD, path, dir);
  return dir;
}

TRACE_EXPORT DIR* fdopendir(int fd) {
  NEED(fdopendir, NULL)
  DIR* dir = next_fdopendir(fd);
  if (dir != NULL && TraceEnabled()) Watch(fd, ".", dir);
  return dir;
}

// The end and an error are told apart by errno alone.
#define DEFINE_READDIR(function, type)                                               \
  TRACE_EXPORT struct type* function(DIR* dir) {                                     \
    NEED(function, NULL)                                                             \
    const int before = errno;                                                        \
    errno = 0;                                                                       \
    struct type* entry = next_##function(dir);                                       \
    const int after = errno;                                                         \
    if (entry != NULL || after == 0) Got(dir, entry == NULL ? NULL : entry->d_name); \
    errno = after == 0 ? before : after;                                             \
    return entry;                                                                    \
  }
DEFINE_READDIR(readdir, dirent)
DEFINE_READDIR(readdir64, dirent64)

// What is read a second time is the same listing.
TRACE_EXPORT void rewinddir(DIR* dir) {
  NEED(rewinddir, )
  struct Slot* slot = Find(dir);
  if (slot != NULL && !slot->ended && slot->pid == (uint64_t)syscall(SYS_getpid)) {
    Flush(slot);
    WriteEnd(slot->id, slot->count, 'p');
    slot->ended = 1;
  }
  next_rewinddir(dir);
}

TRACE_EXPORT int closedir(DIR* dir) {
  NEED(closedir, -1)
  const int error = errno;
  Forget(dir);
  errno = error;
  return next_closedir(dir);
}

// scandir reads the folder within glibc: its result is what the program sees.
#define DEFINE_SCANNED(name, type)                                                                                     \
  __attribute__((noinline)) static void name(int dirfd, const char* path, struct type** list, int count, int sorted) { \
    const int error = errno;                                                                                           \
    char buffer[TRACE_PATH_MAX];                                                                                       \
    const char* data = TraceDataPath(dirfd, path, buffer);                                                             \
    if (data != NULL) {                                                                                                \
      const unsigned id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);                                           \
      uint64_t names = 0;                                                                                              \
      TraceWritePath(sorted ? 's' : 'd', id, data);                                                                    \
      for (int i = 0; i < count; ++i) {                                                                                \
        if (IsDot(list[i]->d_name)) continue;                                                                          \
        WriteNames(id, list[i]->d_name, strlen(list[i]->d_name));                                                      \
        ++names;                                                                                                       \
      }                                                                                                                \
      WriteEnd(id, names, 'c');                                                                                        \
    }                                                                                                                  \
    errno = error;                                                                                                     \
  }
DEFINE_SCANNED(Scanned, dirent)
DEFINE_SCANNED(Scanned64, dirent64)

TRACE_EXPORT int scandir(const char* path, struct dirent*** list, Filter filter, Compare compare) {
  NEED(scandir, -1)
  const int count = next_scandir(path, list, filter, compare);
  if (count >= 0 && TraceEnabled()) Scanned(AT_FDCWD, path, *list, count, compare != NULL);
  return count;
}

TRACE_EXPORT int scandir64(const char* path, struct dirent64*** list, Filter64 filter, Compare64 compare) {
  NEED(scandir64, -1)
  const int count = next_scandir64(path, list, filter, compare);
  if (count >= 0 && TraceEnabled()) Scanned64(AT_FDCWD, path, *list, count, compare != NULL);
  return count;
}

TRACE_EXPORT int scandirat(int dirfd, const char* path, struct dirent*** list, Filter filter, Compare compare) {
  NEED(scandirat, -1)
  const int count = next_scandirat(dirfd, path, list, filter, compare);
  if (count >= 0 && TraceEnabled()) Scanned(dirfd, path, *list, count, compare != NULL);
  return count;
}

TRACE_EXPORT int scandirat64(int dirfd, const char* path, struct dirent64*** list, Filter64 filter, Compare64 compare) {
  NEED(scandirat64, -1)
  const int count = next_scandirat64(dirfd, path, list, filter, compare);
  if (count >= 0 && TraceEnabled()) Scanned64(dirfd, path, *list, count, compare != NULL);
  return count;
}
