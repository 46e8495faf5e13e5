// What to record: read from the environment once; and the variables that tell a process its rank.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace.h"

#define ROOTS_MAX 32
#define ROOT_BYTES_MAX 16384

extern char** environ;

// What launchers tell a process of its place: rules/data/launchers.yaml.
#define LAUNCHER_VARIABLE(name) {#name, "", 0},
static struct TraceVariable variables[] = {
#include "launcher_variables.inc"
};
#undef LAUNCHER_VARIABLE
static unsigned variables_version;

// Where programs, not data, stand; only without stated roots.
static const char* const kProgramFolders[] = {
    "/usr",     "/lib",       "/lib64",           "/bin", "/sbin", "/proc", "/sys", "/dev", "/etc", "/run",
    "/var/lib", "/var/cache", "/usr/local/Ascend"};
static const char* const kProgramEndings[] = {".py", ".pyc", ".pyo", ".so", ".pth", ".egg-link", ".ptrace"};
static const char* const kProgramParts[] = {"/site-packages/", "/dist-packages/", "/.git/", "/__pycache__/", ".so.",
                                            "/lib/python"};

static int started;
static char folder[TRACE_PATH_MAX];
static size_t folder_size;
static char roots_text[ROOT_BYTES_MAX];
static struct {
  const char* path;
  size_t size;
} roots[ROOTS_MAX];
static size_t root_count;

static const char* ValueOf(const char* name) {
  const size_t size = strlen(name);
  for (char** one = environ; one != NULL && *one != NULL; ++one) {
    if (strncmp(*one, name, size) == 0 && (*one)[size] == '=') return *one + size + 1;
  }
  return NULL;
}

static void ReadRoots(const char* text) {
  const size_t size = strlen(text);
  if (size >= sizeof roots_text) return;  // no root would be better than some of them: everything is recorded
  memcpy(roots_text, text, size + 1);
  for (char* at = roots_text; *at != '\0' && root_count < ROOTS_MAX;) {
    char* end = strchr(at, ':');
    char* next = end == NULL ? at + strlen(at) : end + 1;
    if (end == NULL) end = next;
    while (end > at + 1 && end[-1] == '/') --end;
    *end = '\0';
    if (*at == '/') {
      roots[root_count].path = at;
      roots[root_count].size = end == at + 1 ? 0 : (size_t)(end - at);
      ++root_count;
    }
    at = next;
  }
}

static void SetValue(struct TraceVariable* variable, const char* value) {
  size_t size = value == NULL ? 0 : strlen(value);
  if (size >= sizeof variable->value) size = 0;  // no rank is that long
  memcpy(variable->value, value == NULL ? "" : value, size);
  variable->value[size] = '\0';
}

void TraceReadVariables(void) {
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
    SetValue(&variables[i], ValueOf(variables[i].name));
  }
}

void TraceStart(void) {
  if (__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return;
  if (environ == NULL) return;  // too early: the C library is not there yet
  const char* dir = ValueOf("PARITECT_TRACE_DIR");
  if (dir != NULL && dir[0] == '/' && strlen(dir) < sizeof folder - 512) {
    folder_size = strlen(dir);
    memcpy(folder, dir, folder_size + 1);
  }
  const char* wanted = ValueOf("PARITECT_TRACE_ROOTS");
  if (wanted != NULL && root_count == 0) ReadRoots(wanted);
  TraceReadVariables();
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
}

int TraceInherited(char* const* one) {
  int folder_there = 0, library_there = 0;
  for (one = one == NULL ? environ : one; one != NULL && *one != NULL; ++one) {
    folder_there |= strncmp(*one, "PARITECT_TRACE_DIR=", 19) == 0;
    library_there |= strncmp(*one, "LD_PRELOAD=", 11) == 0 && strstr(*one, "paritect-trace") != NULL;
  }
  return folder_there && library_there;
}

int TraceEnabled(void) {
  return folder_size != 0;
}
void TraceDisable(void) {
  folder_size = 0;
}
const char* TraceFolder(void) {
  return folder;
}

struct TraceVariable* TraceVariables(size_t* count) {
  *count = sizeof variables / sizeof variables[0];
  return variables;
}

unsigned TraceVariablesVersion(void) {
  return __atomic_load_n(&variables_version, __ATOMIC_ACQUIRE);
}

static int Below(const char* path, const char* above, size_t size) {
  return strncmp(path, above, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static int IsProgram(const char* path) {
  for (size_t i = 0; i < sizeof kProgramFolders / sizeof kProgramFolders[0]; ++i) {
    if (Below(path, kProgramFolders[i], strlen(kProgramFolders[i]))) return 1;
  }
  const size_t size = strlen(path);
  for (size_t i = 0; i < sizeof kProgramEndings / sizeof kProgramEndings[0]; ++i) {
    const size_t ending = strlen(kProgramEndings[i]);
    if (size > ending && strcmp(path + size - ending, kProgramEndings[i]) == 0) return 1;
  }
  for (size_t i = 0; i < sizeof kProgramParts / sizeof kProgramParts[0]; ++i) {
    if (strstr(path, kProgramParts[i]) != NULL) return 1;
  }
  return 0;
}

int TraceWanted(const char* path) {
  if (root_count == 0) return !Below(path, folder, folder_size) && !IsProgram(path);
  for (size_t i = 0; i < root_count; ++i) {
    if (Below(path, roots[i].path, roots[i].size)) return 1;
  }
  return 0;
}

// --- the program sets its own rank: os.environ["RANK"] = ... of a child of mp.spawn ----------------------

static struct TraceVariable* Find(const char* name, size_t size) {
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
    if (strncmp(variables[i].name, name, size) == 0 && variables[i].name[size] == '\0') return &variables[i];
  }
  return NULL;
}

static void Change(const char* name, size_t size, const char* value) {
  struct TraceVariable* variable = Find(name, size);
  if (variable == NULL) return;
  SetValue(variable, value);
  __atomic_store_n(&variable->changed, 1, __ATOMIC_RELEASE);
  __atomic_add_fetch(&variables_version, 1, __ATOMIC_RELEASE);
}

static int (*next_setenv)(const char*, const char*, int);
static int (*next_putenv)(char*);
static int (*next_unsetenv)(const char*);

static void ResolveEnvironment(void) {
  if (next_setenv == NULL) *(void**)&next_setenv = TraceNext("setenv");
  if (next_putenv == NULL) *(void**)&next_putenv = TraceNext("putenv");
  if (next_unsetenv == NULL) *(void**)&next_unsetenv = TraceNext("unsetenv");
}

TRACE_EXPORT int setenv(const char* name, const char* value, int overwrite) {
  TraceStart();
  ResolveEnvironment();
  const int result = next_setenv(name, value, overwrite);
  if (result == 0 && Find(name, strlen(name)) != NULL) Change(name, strlen(name), ValueOf(name));
  return result;
}

TRACE_EXPORT int putenv(char* text) {
  TraceStart();
  ResolveEnvironment();
  const int result = next_putenv(text);
  const char* equal = result == 0 ? strchr(text, '=') : NULL;
  if (equal != NULL) Change(text, (size_t)(equal - text), equal + 1);
  return result;
}

TRACE_EXPORT int unsetenv(const char* name) {
  TraceStart();
  ResolveEnvironment();
  const int result = next_unsetenv(name);
  if (result == 0) Change(name, strlen(name), NULL);
  return result;
}

// --- the program forbids itself system calls --------------------------------------------------------------

// A filter may end the program at a call that it does not make itself: one of ours.
TRACE_EXPORT int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (size_t i = 0; i < 4; ++i) arguments[i] = va_arg(list, unsigned long);
  va_end(list);
  TraceStart();
  if (option == PR_SET_SECCOMP && TraceEnabled()) TraceStop();
  return (int)syscall(SYS_prctl, (long)option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

// Everything is resolved before threads and forks exist: dlsym takes a lock.
__attribute__((constructor)) static void Begin(void) {
  TraceStart();
  TraceImageBegins();
  ResolveEnvironment();
  TraceResolveOpen();
  TraceResolveFolder();
  TraceResolveExec();
  TraceWatchPython();
}
