// The observer's way in (agent/observer/): an audit hook, added before Python starts, whose first `import` runs the
// observer's start-up code. It is there in every form of start (-I, -S, -c, embedded interpreters) and leaves the path
// and the environment of the program alone. Python 3.6 and 3.7 have no audit hooks:
// agent/observer/site/sitecustomize.py.
#include <stdlib.h>
#include <string.h>

#include "agent/trace/trace.h"

#define FOLDER_MAX 2048

static int (*is_initialized)(void);
static int (*run_text)(const char*, void*);
static int begun;
static char start_text[2 * FOLDER_MAX + 512];

// The file's code runs in a space of names of its own; __main__ stays as it is, an error stays in the observer.
static const char kBefore[] =
    "try:\n"
    "    exec(compile(open(";
static const char kMiddle[] = ", 'rb').read(), ";
static const char kAfter[] =
    ", 'exec'), {'__name__': '_paritect_start', 'HOW': 'audit-hook'})\n"
    "except Exception:\n"
    "    pass\n";

static void Append(const char* text) {
  strncat(start_text, text, sizeof start_text - strlen(start_text) - 1);
}

// As a literal of Python; a name that would need escapes is not taken.
static int AppendName(const char* folder) {
  if (strlen(folder) >= FOLDER_MAX || strpbrk(folder, "'\\\n\r") != NULL) return 0;
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

void TraceWatchPython(void) {
  const char* folder = getenv("PYTHON_PARITECT_OBSERVER");
  if (folder == NULL || folder[0] != '/' || getenv("PYTHON_PARITECT_OBSERVE") == NULL) return;
  int (*add_hook)(int (*)(const char*, void*, void*), void*);
  *(void**)&add_hook = TraceAnywhere("PySys_AddAuditHook");
  *(void**)&is_initialized = TraceAnywhere("Py_IsInitialized");
  *(void**)&run_text = TraceAnywhere("PyRun_SimpleStringFlags");
  if (add_hook == NULL || is_initialized == NULL || run_text == NULL) return;  // no Python
  Append(kBefore);
  if (!AppendName(folder)) return;
  Append(kMiddle);
  AppendName(folder);
  Append(kAfter);
  add_hook(&OnEvent, NULL);
}
