// libparitect-trace.so: records which files a program opens, and in which order it sees folders, from within the
// program (LD_PRELOAD). Written for code that must not be disturbed:
//   * no allocation, no lock, no stdio: hooks run in signal handlers, between fork and exec, in threads with small
//   stacks
//   * errno, return values and file descriptors of the program stay as they are
//   * only system calls through syscall(), and only glibc symbols up to 2.17 (tests/system/trace_symbols.sh)
//   * an open outside the data roots costs a string comparison (bench/trace_bench.sh)
//
// Set by `paritect run`:
//   PARITECT_TRACE_DIR    absolute folder for the records; unset: nothing is recorded
//   PARITECT_TRACE_ROOTS  data roots (absolute, ':' between them); unset: everything but what kProgramFolders names
//
// One file a process, HOST-PID-START.ptrace (START: field 22 of /proc/PID/stat; together unique on a node). A program
// that is replaced by exec keeps its file. Each record ends with NUL, so that names are bytes:
//   paritect-trace 1 PID PPID START      begins what one program image (or forked child) records
//   h HOST   x EXECUTABLE   w WORKING_FOLDER   b exec|fork (how the image began)
//   a PID START                          an ancestor, nearest first
//   v NAME=VALUE                         a variable that tells rank or world size; again when the program sets it
//   o NS PATH                            a regular file opened for reading; NS: CLOCK_MONOTONIC
//   O THREAD NS PATH                     the same, by another thread than the first
//   d ID NS PATH                         a folder opened for listing; ID counts within the image
//   n ID NAME/NAME/...                   names in the order in which the program got them
//   e ID COUNT STATE                     c: read to its end, p: closed before, u: names not recorded
//   s ID NS PATH                         as d, of scandir with a comparison: the names are sorted
//   r NAME=VALUE                         a variable as v, of the environment that the next u is started with
//   u PATH                               a program is started that cannot be recorded (static, setuid, or with an
//                                        environment that lacks the recorder)
//   l COUNT                              so many records were lost before this one
//   q WHY                                the program put itself under a filter of system calls: nothing more is
//   recorded f LIMIT                              the file is full: nothing is recorded any more
// and of `paritect attach` (attached_recorder.h):
//   m counts                             each file stands once, by its first open
//   j before                             the process, or its rank, ran before it was recorded
#ifndef PARITECT_AGENT_TRACE_TRACE_H_
#define PARITECT_AGENT_TRACE_TRACE_H_

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACE_EXPORT __attribute__((visibility("default")))
#define TRACE_PATH_MAX 4096
#define TRACE_FILE_MAX (UINT64_C(1) << 30)   // bytes one program image writes
#define TRACE_NAMES_MAX (UINT64_C(1) << 20)  // names of folders that one program image writes

// --- trace_settings.c ---------------------------------------------------------------------------------

struct TraceVariable {
  const char* name;
  char value[64];  // empty: unset; the last byte is always 0
  int changed;     // by the program, since it was written
};

// Reads the environment once. Hooks may run before any constructor, so each calls it.
void TraceStart(void);
int TraceEnabled(void);
void TraceDisable(void);  // the hooks do nothing of their own from now on
const char* TraceFolder(void);
struct TraceVariable* TraceVariables(size_t* count);
// Reads them from the environment as it stands.
void TraceReadVariables(void);
// Whether a program that is started with this environment is recorded; NULL: the process's own.
int TraceInherited(char* const* environment);
// Counts changes of the variables by the program itself.
unsigned TraceVariablesVersion(void);

// Whether an absolute path in plain spelling is data.
int TraceWanted(const char* path);

// --- trace_path.c -------------------------------------------------------------------------------------

// The path that names data, in plain spelling: `path` itself, or put together in `buffer` (relative paths, "..");
// NULL: it is none. `dirfd` as in openat.
// An open whose path cannot be told counts as lost.
const char* TraceDataPath(int dirfd, const char* path, char buffer[TRACE_PATH_MAX]);

// 1: `path` is spelled plainly, and `data` is it or NULL. 0: TraceDataPath must be asked.
int TracePlainPath(const char* path, const char** data);

// --- trace_record.c -----------------------------------------------------------------------------------

// From the constructor: this process began with a program of its own.
void TraceImageBegins(void);

struct TracePart {
  const char* bytes;
  size_t size;
};
// Appends one record: parts one after another, and NUL. Keeps errno.
void TraceWrite(const struct TracePart* parts, size_t count);
// Says that an open was not recorded.
void TraceLose(void);
// Ends the recording of this process, and of what it forks: it is about to forbid itself system calls that the recorder
// needs.
void TraceStop(void);
// "KIND [ID] NS PATH".
void TraceWritePath(char kind, unsigned id, const char* path);
size_t TraceDecimal(uint64_t value, char* out);  // at most 20 digits, no NUL

// --- trace_python.c ------------------------------------------------------------------------------------

// Where this is a Python and PYTHON_PARITECT_OBSERVER names the observer's code: its start-up runs at the first import.
void TraceWatchPython(void);

// --- trace_open.c, trace_folder.c, trace_exec.c --------------------------------------------------------

// Resolve what the C library provides; once, from the constructor, and lazily before.
void TraceResolveOpen(void);
void TraceResolveFolder(void);
void TraceResolveExec(void);
void* TraceNext(const char* name);
void* TraceAnywhere(const char* name);  // of the program or a library that is loaded with it; NULL: of none

#endif  // PARITECT_AGENT_TRACE_TRACE_H_
