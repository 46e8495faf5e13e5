#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/probe/old_c_library.h"
#include "agent/probe/probe.h"

/* Standard output before the library is there: what it prints must not mix with ours. */
static FILE* out;

static void say_clean(const char* text) {
  int n = 0;
  for (; *text != '\0' && n < PROBE_TEXT_MAX; ++text, ++n) fputc(*text >= 0x20 && *text < 0x7f ? *text : '?', out);
}

void probe_say(const char* key, const char* value) {
  fprintf(out, "%s\t", key);
  say_clean(value);
  fputc('\n', out);
}

void probe_say_number(const char* key, unsigned long long value) { fprintf(out, "%s\t%llu\n", key, value); }

void probe_refused(const char* function, const char* text, long code) {
  fprintf(out, "error\t%s: ", function);
  say_clean(text == NULL ? "refused" : text);
  fprintf(out, " (%ld)\n", code);
}

void* probe_find(void* library, const char* const* names) {
  for (; *names != NULL; ++names) {
    void* found = dlsym(library, *names);
    if (found != NULL) return found;
  }
  return NULL;
}

static void* open_first(char** names, int count) {
  for (int i = 0; i < count; ++i) {
    void* library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
      probe_say("library", names[i]);
      return library;
    }
    const char* why = dlerror();
    probe_say("not_loaded", why == NULL ? names[i] : why);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3 || (strcmp(argv[1], "nvml") != 0 && strcmp(argv[1], "dcmi") != 0)) {
    fprintf(stderr, "usage: paritect-probe nvml|dcmi LIBRARY...\n");
    return 2;
  }
  /* Gone with who started it; no core files of a vendor's crash; a limit of its own should nobody watch. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  alarm(60);
  const int ours = dup(STDOUT_FILENO);
  out = ours < 0 ? NULL : fdopen(ours, "w");
  if (out == NULL || freopen("/dev/null", "w", stdout) == NULL) return 1;

  fprintf(out, "paritect-probe\t1\n");
  void* library = open_first(argv + 2, argc - 2);
  int failed = 1;
  if (library == NULL) {
    fprintf(out, "error\tno library could be loaded\n");
  } else {
    failed = argv[1][0] == 'n' ? probe_nvml(library) : probe_dcmi(library);
  }
  fprintf(out, "end\t\n");
  fflush(out);
  /* Not exit(): the library's own clean-up could hang. */
  _exit(failed);
}
