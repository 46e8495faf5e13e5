// Opens of files: the plain, 64-bit and fortified entries of glibc, and stdio's.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace_hooks.h"

// dlsym moved from libdl to libc in 2.34; the old version is there in both.
#if defined(__x86_64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#endif

#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif

void* TraceNext(const char* name) {
  const int error = errno;
  void* found = dlsym(RTLD_NEXT, name);
  errno = error;
  return found;
}

void* TraceAnywhere(const char* name) {
  return dlsym(RTLD_DEFAULT, name);
}

static int (*next_open)(const char*, int, ...);
static int (*next_open64)(const char*, int, ...);
static int (*next_openat)(int, const char*, int, ...);
static int (*next_openat64)(int, const char*, int, ...);
static int (*next_open_2)(const char*, int);
static int (*next_open64_2)(const char*, int);
static int (*next_openat_2)(int, const char*, int);
static int (*next_openat64_2)(int, const char*, int);
static FILE* (*next_fopen)(const char*, const char*);
static FILE* (*next_fopen64)(const char*, const char*);
static FILE* (*next_freopen)(const char*, const char*, FILE*);
static FILE* (*next_freopen64)(const char*, const char*, FILE*);

void TraceResolveOpen(void) {
  RESOLVE_AS(open, "open");
  RESOLVE_AS(open64, "open64");
  RESOLVE_AS(openat, "openat");
  RESOLVE_AS(openat64, "openat64");
  RESOLVE_AS(open_2, "__open_2");
  RESOLVE_AS(open64_2, "__open64_2");
  RESOLVE_AS(openat_2, "__openat_2");
  RESOLVE_AS(openat64_2, "__openat64_2");
  RESOLVE_AS(fopen, "fopen");
  RESOLVE_AS(fopen64, "fopen64");
  RESOLVE_AS(freopen, "freopen");
  RESOLVE_AS(freopen64, "freopen64");
}

static void RecordData(const char* data, int fd) {
  struct stat file;
  if (data != NULL && syscall(SYS_fstat, fd, &file) == 0 && S_ISREG(file.st_mode)) TraceWritePath('o', 0, data);
}

// Kept out of the hooks: the buffer would stand on the stack of every open.
__attribute__((noinline)) static void RecordOther(int dirfd, const char* path, int fd) {
  char buffer[TRACE_PATH_MAX];
  RecordData(TraceDataPath(dirfd, path, buffer), fd);
}

static void Record(int dirfd, const char* path, int fd) {
  const int error = errno;
  const char* data;
  if (TracePlainPath(path, &data)) {
    if (data != NULL) RecordData(data, fd);
  } else {
    RecordOther(dirfd, path, fd);
  }
  errno = error;
}

// A file opened to be written, a folder, or a mere name is nothing that is read.
static void Opened(int dirfd, const char* path, int flags, int fd) {
  if (fd < 0 || !TraceEnabled()) return;
  if ((flags & O_ACCMODE) == O_WRONLY || (flags & (O_DIRECTORY | O_PATH | O_TRUNC)) != 0) return;
  Record(dirfd, path, fd);
}

static mode_t ModeOf(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(function)                                   \
  TRACE_EXPORT int function(const char* path, int flags, ...) { \
    va_list arguments;                                          \
    va_start(arguments, flags);                                 \
    const mode_t mode = ModeOf(flags, arguments);               \
    va_end(arguments);                                          \
    NEED_AS(function, #function, -1)                            \
    const int fd = next_##function(path, flags, mode);          \
    Opened(AT_FDCWD, path, flags, fd);                          \
    return fd;                                                  \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(function)                                            \
  TRACE_EXPORT int function(int dirfd, const char* path, int flags, ...) { \
    va_list arguments;                                                     \
    va_start(arguments, flags);                                            \
    const mode_t mode = ModeOf(flags, arguments);                          \
    va_end(arguments);                                                     \
    NEED_AS(function, #function, -1)                                       \
    const int fd = next_##function(dirfd, path, flags, mode);              \
    Opened(dirfd, path, flags, fd);                                        \
    return fd;                                                             \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

// Fortified callers (_FORTIFY_SOURCE) come by these.
#define DEFINE_OPEN_2(function)                                \
  TRACE_EXPORT int __##function(const char* path, int flags);  \
  TRACE_EXPORT int __##function(const char* path, int flags) { \
    NEED_AS(function, "__" #function, -1)                      \
    const int fd = next_##function(path, flags);               \
    Opened(AT_FDCWD, path, flags, fd);                         \
    return fd;                                                 \
  }
DEFINE_OPEN_2(open_2)
DEFINE_OPEN_2(open64_2)

#define DEFINE_OPENAT_2(function)                                         \
  TRACE_EXPORT int __##function(int dirfd, const char* path, int flags);  \
  TRACE_EXPORT int __##function(int dirfd, const char* path, int flags) { \
    NEED_AS(function, "__" #function, -1)                                 \
    const int fd = next_##function(dirfd, path, flags);                   \
    Opened(dirfd, path, flags, fd);                                       \
    return fd;                                                            \
  }
DEFINE_OPENAT_2(openat_2)
DEFINE_OPENAT_2(openat64_2)

static void OpenedStream(const char* path, const char* mode, FILE* stream) {
  if (stream == NULL || path == NULL || mode == NULL || !TraceEnabled()) return;
  if (mode[0] != 'r') return;
  Record(AT_FDCWD, path, fileno(stream));
}

#define DEFINE_FOPEN(function)                                      \
  TRACE_EXPORT FILE* function(const char* path, const char* mode) { \
    NEED_AS(function, #function, NULL)                              \
    FILE* stream = next_##function(path, mode);                     \
    OpenedStream(path, mode, stream);                               \
    return stream;                                                  \
  }
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

#define DEFINE_FREOPEN(function)                                               \
  TRACE_EXPORT FILE* function(const char* path, const char* mode, FILE* old) { \
    NEED_AS(function, #function, NULL)                                         \
    FILE* stream = next_##function(path, mode, old);                           \
    OpenedStream(path, mode, stream);                                          \
    return stream;                                                             \
  }
DEFINE_FREOPEN(freopen)
DEFINE_FREOPEN(freopen64)
