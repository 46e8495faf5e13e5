// The observer's way in (agent/observer/): an audit hook, added before Python starts, whose first `import` runs the
// observer's start-up code. It is there in every form of start (-I, -S, -c, embedded interpreters) and leaves the path
// and the environment of the program alone. Python 3.6 and 3.7 have no audit hooks:
// agent/observer/site/sitecustomize.py.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace.h"

#define FOLDER_MAX 2048

static int (*is_initialized)(void);
static int (*run_text)(const char*, void*);
static int begun;
static char start_text[2 * FOLDER_MAX + 512];

// The file's code runs in a space of names of its own; __main__ stays as it is, an error stays in the observer, and
// nothing is left open that a program with warnings on would hear of.
static const char kBefore[] =
    "try:\n"
    "    exec(\"with open(";
static const char kMiddle[] = ", 'rb') as file: text = file.read()\\nexec(compile(text, ";
static const char kAfter[] =
    ", 'exec'), {'__name__': '_paritect_start', 'HOW': 'audit-hook'})\", {})\n"
    "except Exception:\n"
    "    pass\n";

static void Append(const char* text) {
  strncat(start_text, text, sizeof start_text - strlen(start_text) - 1);
}

// As a literal of Python; a name that would need escapes is not taken.
static int AppendName(const char* folder) {
  if (strlen(folder) >= FOLDER_MAX || strpbrk(folder, "'\"\\\n\r") != NULL) return 0;
  Append("'");
  Append(folder);
  Append("/start.py'");
  return 1;
}

static int OnEvent(const char* event, void* arguments, void* data) {
  (void)arguments;
  (void)data;
  if (__atomic_load_n(&begun, __ATOMIC_RELAXED) || strcmp(event, "import") != 0 || !is_initialized()) return 0;
  if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL)) return 0;
  run_text(start_text, NULL);
  return 0;
}

// Whether "-X dev" stands among the interpreter's own arguments.
static int IsDevelopment(void) {
  char text[4096];
  const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;  // not known
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 1;
  text[size] = '\0';
  const char* end = text + size;
  for (const char* one = text + strlen(text) + 1; one < end && one[0] == '-'; one += strlen(one) + 1) {
    const size_t length = strlen(one);
    const char last = one[length - 1];
    const char* value = last == 'X' && one + length + 1 < end ? one + length + 1 : strrchr(one, 'X');
    if (value != NULL && strcmp(value + (value[0] == 'X'), "dev") == 0) return 1;
    if (last == 'X' || last == 'W') one += length + 1;  // its value stands by itself
    if (last == 'c' || last == 'm') return 0;
  }
  return 0;
}

// An interpreter that watches its memory frees at its end, by its watching functions, what a hook that was added before
// its start got from plain ones, and aborts. The folder on PYTHONPATH is the way in there.
static int MemoryIsWatched(void) {
  const char* allocator = getenv("PYTHONMALLOC");
  const char* development = getenv("PYTHONDEVMODE");
  if (allocator != NULL && strstr(allocator, "debug") != NULL) return 1;
  if (development != NULL && development[0] != '\0') return 1;
  return TraceAnywhere("_Py_NegativeRefcount") != NULL || IsDevelopment();  // a debug build
}

void TraceWatchPython(void) {
  const char* folder = getenv("PYTHON_PARITECT_OBSERVER");
  if (folder == NULL || folder[0] != '/' || getenv("PYTHON_PARITECT_OBSERVE") == NULL) return;
  int (*add_hook)(int (*)(const char*, void*, void*), void*);
  *(void**)&add_hook = TraceAnywhere("PySys_AddAuditHook");
  *(void**)&is_initialized = TraceAnywhere("Py_IsInitialized");
  *(void**)&run_text = TraceAnywhere("PyRun_SimpleStringFlags");
  if (add_hook == NULL || is_initialized == NULL || run_text == NULL) return;  // no Python
  if (MemoryIsWatched()) return;
  Append(kBefore);
  if (!AppendName(folder)) return;
  Append(kMiddle);
  AppendName(folder);
  Append(kAfter);
  add_hook(&OnEvent, NULL);
}
