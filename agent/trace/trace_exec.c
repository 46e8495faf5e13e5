// Programs that cannot be recorded are named as such when they are started: a static program has no loader that would
// preload anything, a setuid program's loader ignores LD_PRELOAD, and an environment without it tells the loader
// nothing. glibc's exec functions do not call each other by name, so each is hooked.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace_hooks.h"

#define PATH_PARTS_MAX 256

extern char** environ;

// No environment at all is legal, and not the process's own.
static char* const kNone[] = {NULL};
#define GIVEN(environment) ((environment) == NULL ? kNone : (environment))

typedef int (*Spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                     char* const[]);
static int (*next_execve)(const char*, char* const[], char* const[]);
static int (*next_execv)(const char*, char* const[]);
static int (*next_execvp)(const char*, char* const[]);
static int (*next_execvpe)(const char*, char* const[], char* const[]);
static int (*next_fexecve)(int, char* const[], char* const[]);
static Spawn next_posix_spawn;
static Spawn next_posix_spawnp;

void TraceResolveExec(void) {
  RESOLVE(execve);
  RESOLVE(execv);
  RESOLVE(execvp);
  RESOLVE(execvpe);
  RESOLVE(fexecve);
  RESOLVE(posix_spawn);
  RESOLVE(posix_spawnp);
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

// Whether `fd` is a program that will not be recorded.
static int Unseen(int fd, char* const* environment) {
  struct stat file;
  if (syscall(SYS_fstat, fd, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  const int other_user = (file.st_mode & S_ISUID) != 0 && file.st_uid != (uid_t)syscall(SYS_getuid);
  return other_user || !TraceInherited(environment) || IsStatic(fd);
}

// The rank that the program is given.
static void SayGiven(char* const* one) {
  size_t count;
  const struct TraceVariable* variables = TraceVariables(&count);
  for (; one != NULL && *one != NULL; ++one) {
    for (size_t i = 0; i < count; ++i) {
      const size_t size = strlen(variables[i].name);
      if (strncmp(*one, variables[i].name, size) != 0 || (*one)[size] != '=' || strlen(*one) > size + 64) continue;
      const struct TracePart parts[] = {{"r ", 2}, {*one, strlen(*one)}};
      TraceWrite(parts, 2);
    }
  }
}

// 0: there is no such program.
__attribute__((noinline)) static int Started(const char* path, char* const* environment) {
  if (path == NULL) return 1;
  const int error = errno;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd >= 0) {
    const int unseen = Unseen(fd, environment);
    syscall(SYS_close, fd);
    if (unseen) {
      SayGiven(environment == NULL ? environ : environment);
      const struct TracePart parts[] = {{"u ", 2}, {path, strlen(path)}};
      TraceWrite(parts, 2);
    }
  }
  errno = error;
  return fd >= 0;
}

// A name without a folder is looked for in PATH, as the call itself will.
__attribute__((noinline)) static void StartedByName(const char* name, char* const* environment) {
  if (name == NULL) return;
  const char* folders = NULL;
  for (char** one = environ; one != NULL && *one != NULL; ++one) {
    if (strncmp(*one, "PATH=", 5) == 0) folders = *one + 5;
  }
  const size_t size = strlen(name);
  if (strchr(name, '/') != NULL || size == 0 || folders == NULL) {
    Started(name, environment);
    return;
  }
  char path[TRACE_PATH_MAX];
  for (int i = 0; i < PATH_PARTS_MAX; ++i) {
    const char* end = strchr(folders, ':');
    const size_t folder = end == NULL ? strlen(folders) : (size_t)(end - folders);
    if (folder + size + 2 <= sizeof path) {
      memcpy(path, folders, folder);
      path[folder] = '/';
      memcpy(path + folder + 1, name, size + 1);
      if (Started(folder == 0 ? name : path, environment)) return;
    }
    if (end == NULL) return;
    folders = end + 1;
  }
}

__attribute__((noinline)) static void StartedByDescriptor(int fd, char* const* environment) {
  char link[40] = "/proc/self/fd/";
  link[14 + TraceDecimal((uint64_t)(fd < 0 ? 0 : fd), link + 14)] = '\0';
  Started(link, environment);
}

TRACE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  NEED(execve, -1)
  if (TraceEnabled()) Started(path, GIVEN(environment));
  return next_execve(path, arguments, environment);
}

TRACE_EXPORT int execv(const char* path, char* const arguments[]) {
  NEED(execv, -1)
  if (TraceEnabled()) Started(path, NULL);
  return next_execv(path, arguments);
}

TRACE_EXPORT int execvp(const char* name, char* const arguments[]) {
  NEED(execvp, -1)
  if (TraceEnabled()) StartedByName(name, NULL);
  return next_execvp(name, arguments);
}

TRACE_EXPORT int execvpe(const char* name, char* const arguments[], char* const environment[]) {
  NEED(execvpe, -1)
  if (TraceEnabled()) StartedByName(name, GIVEN(environment));
  return next_execvpe(name, arguments, environment);
}

TRACE_EXPORT int fexecve(int fd, char* const arguments[], char* const environment[]) {
  NEED(fexecve, -1)
  if (TraceEnabled()) StartedByDescriptor(fd, GIVEN(environment));
  return next_fexecve(fd, arguments, environment);
}

// The variadic forms: the arguments as an array on the stack, as glibc itself does it.
#define COUNT_ARGUMENTS(first)                                       \
  va_list list;                                                      \
  const char* volatile head = (first); /* promised not to be NULL */ \
  size_t count = head != NULL;                                       \
  va_start(list, first);                                             \
  if (count != 0) {                                                  \
    while (va_arg(list, const char*) != NULL) ++count;               \
  }                                                                  \
  va_end(list);                                                      \
  const char* arguments[count + 1];                                  \
  arguments[0] = head;                                               \
  va_start(list, first);                                             \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, const char*);

TRACE_EXPORT int execl(const char* path, const char* first, ...) {
  COUNT_ARGUMENTS(first)
  va_end(list);
  return execv(path, (char* const*)(uintptr_t)arguments);
}

TRACE_EXPORT int execlp(const char* name, const char* first, ...) {
  COUNT_ARGUMENTS(first)
  va_end(list);
  return execvp(name, (char* const*)(uintptr_t)arguments);
}

TRACE_EXPORT int execle(const char* path, const char* first, ...) {
  COUNT_ARGUMENTS(first)
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, (char* const*)(uintptr_t)arguments, environment);
}

TRACE_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  NEED(posix_spawn, -1)
  if (TraceEnabled()) Started(path, GIVEN(environment));
  return next_posix_spawn(pid, path, actions, attributes, arguments, environment);
}

TRACE_EXPORT int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  NEED(posix_spawnp, -1)
  if (TraceEnabled()) StartedByName(name, GIVEN(environment));
  return next_posix_spawnp(pid, name, actions, attributes, arguments, environment);
}
