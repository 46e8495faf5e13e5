// Which path an open means. The string comes first: only a path that is not spelled plainly, or is relative, costs a
// system call or a copy.
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace.h"

// Whether "//", "/./", "/../" or a "/." or "/" at the end stands in it.
static int IsPlain(const char* path) {
  for (const char* at = strchr(path, '/'); at != NULL; at = strchr(at + 1, '/')) {
    if (at[1] == '/') return 0;
    if (at[1] == '\0') return at == path;
    if (at[1] == '.' && (at[2] == '/' || at[2] == '\0' || (at[2] == '.' && (at[3] == '/' || at[3] == '\0')))) return 0;
  }
  return 1;
}

// Appends the steps of `path` to the absolute path in `buffer`; links are not known here. -1: too long.
static long Append(char* buffer, size_t size, const char* path) {
  while (*path != '\0') {
    while (*path == '/') ++path;
    const char* end = strchr(path, '/');
    const size_t step = end == NULL ? strlen(path) : (size_t)(end - path);
    if (step == 0) break;
    if (step == 1 && path[0] == '.') {
      // stays
    } else if (step == 2 && path[0] == '.' && path[1] == '.') {
      while (size > 0 && buffer[size - 1] != '/') --size;
      if (size > 0) --size;
    } else {
      if (size + step + 2 > TRACE_PATH_MAX) return -1;
      buffer[size++] = '/';
      memcpy(buffer + size, path, step);
      size += step;
    }
    path += step;
  }
  buffer[size] = '\0';
  return (long)size;
}

// The folder that a relative path starts from, without a '/' at its end. -1: not known.
static long Base(int dirfd, char* buffer) {
  long size;
  if (dirfd == AT_FDCWD) {
    size = syscall(SYS_getcwd, buffer, (size_t)TRACE_PATH_MAX) - 1;
  } else {
    char link[40] = "/proc/self/fd/";
    link[14 + TraceDecimal((uint64_t)(dirfd < 0 ? 0 : dirfd), link + 14)] = '\0';
    size = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, (size_t)TRACE_PATH_MAX - 1);
  }
  if (size <= 0 || buffer[0] != '/') return -1;  // too deep, or "(unreachable)/..."
  if (size == 1) size = 0;                       // "/"
  buffer[size] = '\0';
  return size;
}

// Kept out of the way of a plain path, which needs no buffer: threads may have small stacks.
__attribute__((noinline)) static const char* PutTogether(int dirfd, const char* path, char* buffer) {
  const long base = path[0] == '/' ? 0 : Base(dirfd, buffer);
  if (base < 0 || Append(buffer, (size_t)base, path) < 0) {
    TraceLose();  // it may have been data
    return NULL;
  }
  return TraceWanted(buffer) ? buffer : NULL;
}

int TracePlainPath(const char* path, const char** data) {
  if (path[0] != '/' || !IsPlain(path)) return 0;
  *data = TraceWanted(path) ? path : NULL;
  return 1;
}

const char* TraceDataPath(int dirfd, const char* path, char buffer[TRACE_PATH_MAX]) {
  const char* data;
  return TracePlainPath(path, &data) ? data : PutTogether(dirfd, path, buffer);
}
