// Programs that cannot be recorded are named as such when they are started: a static program has no loader that would
// preload anything, and a setuid program's loader ignores LD_PRELOAD.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace_hooks.h"

static int (*next_execve)(const char*, char* const[], char* const[]);
static int (*next_execv)(const char*, char* const[]);
static int (*next_posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                               char* const[], char* const[]);

void TraceResolveExec(void) {
  RESOLVE(execve);
  RESOLVE(execv);
  RESOLVE(posix_spawn);
}

// Whether an ELF program names no loader. Scripts are run by another program, which has its own exec.
static int IsStatic(int fd) {
  Elf64_Ehdr head;
  if (syscall(SYS_pread64, fd, &head, sizeof head, 0L) != (long)sizeof head) return 0;
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  if (head.e_ident[EI_CLASS] != ELFCLASS64) return 1;  // of another word size: nothing of ours fits
  for (unsigned i = 0; i < head.e_phnum && i < 64; ++i) {
    Elf64_Phdr part;
    const long at = (long)(head.e_phoff + (uint64_t)i * head.e_phentsize);
    if (syscall(SYS_pread64, fd, &part, sizeof part, at) != (long)sizeof part) return 0;
    if (part.p_type == PT_INTERP) return 0;
  }
  return 1;
}

__attribute__((noinline)) static void Started(const char* path) {
  const int error = errno;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  struct stat file;
  if (fd >= 0) {
    int unseen = 0;
    if (syscall(SYS_fstat, fd, &file) == 0 && S_ISREG(file.st_mode)) {
      const int other = (file.st_mode & S_ISUID) != 0 && file.st_uid != (uid_t)syscall(SYS_getuid);
      unseen = other || IsStatic(fd);
    }
    syscall(SYS_close, fd);
    if (unseen) {
      const struct TracePart parts[] = {{"u ", 2}, {path, strlen(path)}};
      TraceWrite(parts, 2);
    }
  }
  errno = error;
}

TRACE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  NEED(execve, -1)
  if (TraceEnabled()) Started(path);
  return next_execve(path, arguments, environment);
}

TRACE_EXPORT int execv(const char* path, char* const arguments[]) {
  NEED(execv, -1)
  if (TraceEnabled()) Started(path);
  return next_execv(path, arguments);
}

TRACE_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  NEED(posix_spawn, -1)
  if (TraceEnabled()) Started(path);
  return next_posix_spawn(pid, path, actions, attributes, arguments, environment);
}
