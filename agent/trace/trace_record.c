// The record file of a process. One word of state, {pid, descriptor}: a forked child sees another pid and opens its own
// file; nothing has to be told of fork, vfork or clone. There are two such words: a child of vfork shares its parent's
// memory, and must not make it forget its descriptor. The descriptor stands high, away from those that programs count
// on, and is looked at before each record: a program that closes everything may have another file under its number.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/trace/trace.h"

#define PARTS_MAX 8
#define ANCESTORS_MAX 16
#define ROOM_KEPT 64  // for the record that says that the file is full

struct RecordFile {
  uint64_t state;  // pid << 32 | descriptor
  uint64_t device, inode;
};
static struct RecordFile files[2];
static uint64_t image_pid;        // of the constructor
static uint64_t begun;            // pid whose header is written
static unsigned written_version;  // of the variables
static uint64_t written_bytes, lost;
static int full, stopped;

void TraceImageBegins(void) {
  __atomic_store_n(&image_pid, (uint64_t)syscall(SYS_getpid), __ATOMIC_RELEASE);
}

size_t TraceDecimal(uint64_t value, char* out) {
  char digits[20];
  size_t size = 0;
  do {
    digits[size++] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  for (size_t i = 0; i < size; ++i) out[i] = digits[size - 1 - i];
  return size;
}

static int CloseRaw(int fd) {
  return (int)syscall(SYS_close, fd);
}

// Parent and start of a process from /proc/PID/stat. 0: not known.
static int ReadStat(uint64_t pid, uint64_t* parent, uint64_t* start) {
  char path[40] = "/proc/", text[512];  // a name of 16 bytes and 51 numbers
  size_t size = 6 + TraceDecimal(pid, path + 6);
  memcpy(path + size, "/stat", 6);
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  const long got = syscall(SYS_read, fd, text, sizeof text - 1);
  CloseRaw(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  // The name in parentheses may hold anything; the state is field 3.
  const char* at = strrchr(text, ')');
  uint64_t fields[23] = {0};
  size_t field = 2;
  for (; at != NULL && *at != '\0' && field < 22; ++at) {
    if (*at != ' ') continue;
    ++field;
    for (const char* digit = at + 1; *digit >= '0' && *digit <= '9'; ++digit) {
      fields[field] = fields[field] * 10 + (uint64_t)(*digit - '0');
    }
  }
  *parent = fields[4];
  *start = fields[22];
  return field == 22;
}

// Whether the file may grow by so much: beyond a limit of file sizes a write would end the program (SIGXFSZ).
static int HasRoom(int fd, size_t size) {
  struct rlimit limit;
  struct stat file;
  if (syscall(SYS_prlimit64, 0L, (long)RLIMIT_FSIZE, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1;
  return syscall(SYS_fstat, fd, &file) == 0 && (uint64_t)file.st_size + size <= (uint64_t)limit.rlim_cur;
}

static void Put(int fd, const char* bytes, size_t size) {
  if (!HasRoom(fd, size)) return;
  (void)syscall(SYS_write, fd, bytes, size);
  written_bytes += size;
}

// One thread of a process writes the header: its buffer need not stand on a stack that may be small.
static void PutLink(int fd, char kind, const char* link) {
  static char record[TRACE_PATH_MAX + 4];
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, record + 2, (size_t)TRACE_PATH_MAX);
  if (size <= 0) return;
  record[0] = kind;
  record[1] = ' ';
  record[size + 2] = '\0';
  Put(fd, record, (size_t)size + 3);
}

// `all`: those that are set; else those that changed.
static void PutVariables(int fd, int all) {
  size_t count;
  struct TraceVariable* variables = TraceVariables(&count);
  const unsigned version = TraceVariablesVersion();
  for (size_t i = 0; i < count; ++i) {
    const int changed = __atomic_exchange_n(&variables[i].changed, 0, __ATOMIC_ACQ_REL);
    if (all ? variables[i].value[0] == '\0' : !changed) continue;
    char record[128] = "v ";
    size_t size = 2;
    memcpy(record + size, variables[i].name, strlen(variables[i].name));
    size += strlen(variables[i].name);
    record[size++] = '=';
    memcpy(record + size, variables[i].value, strlen(variables[i].value));
    size += strlen(variables[i].value);
    record[size++] = '\0';
    Put(fd, record, size);
  }
  __atomic_store_n(&written_version, version, __ATOMIC_RELEASE);
}

static void PutHeader(int fd, uint64_t pid, uint64_t parent, uint64_t start) {
  char record[128] = "paritect-trace 1 ";
  size_t size = 17;
  size += TraceDecimal(pid, record + size);
  record[size++] = ' ';
  size += TraceDecimal(parent, record + size);
  record[size++] = ' ';
  size += TraceDecimal(start, record + size);
  record[size++] = '\0';
  Put(fd, record, size);
  struct utsname name;
  if (syscall(SYS_uname, &name) == 0) {
    memcpy(record, "h ", 2);
    const size_t host = strnlen(name.nodename, sizeof name.nodename - 1);
    memcpy(record + 2, name.nodename, host);
    record[host + 2] = '\0';
    Put(fd, record, host + 3);
  }
  PutLink(fd, 'x', "/proc/self/exe");
  PutLink(fd, 'w', "/proc/self/cwd");
  Put(fd, pid == __atomic_load_n(&image_pid, __ATOMIC_ACQUIRE) ? "b exec" : "b fork", 7);
  for (int i = 0; i < ANCESTORS_MAX && parent > 0; ++i) {
    uint64_t above, born;
    if (!ReadStat(parent, &above, &born)) break;
    size = 2;
    memcpy(record, "a ", 2);
    size += TraceDecimal(parent, record + size);
    record[size++] = ' ';
    size += TraceDecimal(born, record + size);
    record[size++] = '\0';
    Put(fd, record, size);
    parent = above;
  }
  PutVariables(fd, 1);
}

// FOLDER/HOST-PID-START.ptrace
static int OpenFile(uint64_t pid, uint64_t start) {
  char name[160];
  size_t size = 0;
  struct utsname machine;
  if (syscall(SYS_uname, &machine) == 0) {
    for (const char* at = machine.nodename; *at != '\0' && size < 64; ++at) name[size++] = *at == '/' ? '_' : *at;
  }
  name[size++] = '-';
  size += TraceDecimal(pid, name + size);
  name[size++] = '-';
  size += TraceDecimal(start, name + size);
  memcpy(name + size, ".ptrace", 8);
  const int folder = (int)syscall(SYS_openat, AT_FDCWD, TraceFolder(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return -1;
  const int low = (int)syscall(SYS_openat, folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  CloseRaw(folder);
  if (low < 0) return -1;
  for (int floor = 900; floor > 40; floor /= 3) {
    const int high = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, (long)floor);
    if (high < 0) continue;
    CloseRaw(low);
    return high;
  }
  return low;
}

static int IsOurs(const struct RecordFile* file, int fd) {
  struct stat now;
  return syscall(SYS_fstat, fd, &now) == 0 && (uint64_t)now.st_ino == __atomic_load_n(&file->inode, __ATOMIC_ACQUIRE) &&
         (uint64_t)now.st_dev == __atomic_load_n(&file->device, __ATOMIC_ACQUIRE);
}

// The descriptor of this process's file; -1: there is none.
static int Descriptor(void) {
  const uint64_t pid = (uint64_t)syscall(SYS_getpid);
  struct RecordFile* file = NULL;
  for (size_t i = 0; i < 2; ++i) {
    const uint64_t known = __atomic_load_n(&files[i].state, __ATOMIC_ACQUIRE);
    if (known >> 32 != pid) continue;
    if (IsOurs(&files[i], (int)(uint32_t)known)) return (int)(uint32_t)known;
    file = &files[i];  // closed by the program
  }
  uint64_t parent = 0, start = 0;
  ReadStat(pid, &parent, &start);
  if (file == NULL) file = &files[__atomic_load_n(&files[0].state, __ATOMIC_ACQUIRE) >> 32 == parent ? 1 : 0];
  uint64_t known = __atomic_load_n(&file->state, __ATOMIC_ACQUIRE);
  const int fd = OpenFile(pid, start);
  struct stat made;
  if (fd < 0) return -1;
  if (syscall(SYS_fstat, fd, &made) != 0) {
    CloseRaw(fd);
    return -1;
  }
  // Threads that come here together get one and the same file: the later descriptor is closed again.
  if (!__atomic_compare_exchange_n(&file->state, &known, pid << 32 | (uint32_t)fd, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    CloseRaw(fd);
    return known >> 32 == pid ? (int)(uint32_t)known : -1;
  }
  __atomic_store_n(&file->inode, (uint64_t)made.st_ino, __ATOMIC_RELEASE);
  __atomic_store_n(&file->device, (uint64_t)made.st_dev, __ATOMIC_RELEASE);
  uint64_t before = __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
  if (before != pid && __atomic_compare_exchange_n(&begun, &before, pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    written_bytes = 0;
    full = 0;
    // A forked child may have set its rank without setenv (perl): it has one thread yet, so its environment stands
    // still.
    if (pid != __atomic_load_n(&image_pid, __ATOMIC_ACQUIRE)) TraceReadVariables();
    PutHeader(fd, pid, parent, start);
  }
  return fd;
}

static void PutNumber(int fd, char kind, uint64_t value) {
  char record[32] = {kind, ' '};
  const size_t size = 2 + TraceDecimal(value, record + 2);
  record[size] = '\0';
  Put(fd, record, size + 1);
}

static void Write(const struct TracePart* parts, size_t count) {
  if (stopped) return;
  const int fd = Descriptor();
  if (fd < 0) {
    __atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
    return;
  }
  if (full) return;
  if (__atomic_load_n(&written_version, __ATOMIC_ACQUIRE) != TraceVariablesVersion()) PutVariables(fd, 0);
  const uint64_t gone = __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED);
  if (gone != 0) PutNumber(fd, 'l', gone);
  struct iovec pieces[PARTS_MAX + 1];
  size_t size = 1;
  for (size_t i = 0; i < count; ++i) {
    pieces[i].iov_base = (void*)(uintptr_t)parts[i].bytes;
    pieces[i].iov_len = parts[i].size;
    size += parts[i].size;
  }
  pieces[count].iov_base = (void*)(uintptr_t) "";
  pieces[count].iov_len = 1;
  if (!HasRoom(fd, size + ROOM_KEPT)) {
    PutNumber(fd, 'f', written_bytes);
    full = 1;
    return;
  }
  if (syscall(SYS_writev, fd, pieces, (int)count + 1) != (long)size) __atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&written_bytes, size, __ATOMIC_RELAXED) > TRACE_FILE_MAX) {
    full = 1;
    PutNumber(fd, 'f', TRACE_FILE_MAX);
  }
}

void TraceLose(void) {
  const int error = errno;
  const struct TracePart parts[] = {{"l 1", 3}};
  Write(parts, 1);
  errno = error;
}

void TraceStop(void) {
  if (stopped) return;
  const int error = errno;
  const struct TracePart parts[] = {{"q seccomp", 9}};
  Write(parts, 1);
  stopped = 1;
  TraceDisable();
  errno = error;
}

void TraceWrite(const struct TracePart* parts, size_t count) {
  const int error = errno;
  if (count <= PARTS_MAX) Write(parts, count);
  errno = error;
}

void TraceWritePath(char kind, unsigned id, const char* path) {
  const int error = errno;
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char head[72] = {kind, ' '};
  size_t size = 2;
  const uint64_t thread = (uint64_t)syscall(SYS_gettid);
  if (kind == 'o' && thread != (uint64_t)syscall(SYS_getpid)) {
    head[0] = 'O';
    size += TraceDecimal(thread, head + size);
    head[size++] = ' ';
  }
  if (kind != 'o') {
    size += TraceDecimal(id, head + size);
    head[size++] = ' ';
  }
  size += TraceDecimal((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, head + size);
  head[size++] = ' ';
  const struct TracePart parts[] = {{head, size}, {path, strlen(path)}};
  Write(parts, 2);
  errno = error;
}
