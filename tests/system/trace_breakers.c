// What breaks careless preloads, one case a call: trace_breakers CASE DATA_FOLDER [SELF]. Prints what the program
// itself sees (results and errno), so that a run with and one without the recorder can be compared byte by byte.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static const char* data;
static char text[PATH_MAX * 2];

static const char* In(const char* name) {
  snprintf(text, sizeof text, "%s/%s", data, name);
  return text;
}

// "open part-1.bin: 0" or its errno.
static int Try(const char* what, const char* path, int flags) {
  errno = 77;
  const int fd = open(path, flags, 0600);
  printf("%s: %s errno %d\n", what, fd < 0 ? "fails" : "opens", errno);
  return fd;
}

static void WaitFor(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  printf("child %d\n", status);
}

static void CloseFrom(void) {
  close(Try("before", In("part-1.bin"), O_RDONLY));
  for (int fd = 3; fd < 4096; ++fd) close(fd);
#ifdef SYS_close_range
  syscall(SYS_close_range, 3, ~0U, 0);
#endif
  const int first = Try("after", In("part-2.bin"), O_RDONLY);
  printf("descriptor %d\n", first);
}

static void Spawns(const char* self) {
  fflush(stdout);
  char* words[] = {(char*)"cat", (char*)In("part-1.bin"), NULL};
  char* first = strdup(words[1]);
  words[1] = first;
  pid_t pid = vfork();
  if (pid == 0) {
    execv("/bin/cat", words);
    _exit(99);
  }
  WaitFor(pid);
  fflush(stdout);
  if (posix_spawn(&pid, "/bin/cat", NULL, NULL, words, environ) == 0) WaitFor(pid);
  fflush(stdout);
  if (posix_spawnp(&pid, "cat", NULL, NULL, words, environ) == 0) WaitFor(pid);
  fflush(stdout);
  for (int i = 0; i < 4; ++i) {
    pid = fork();
    if (pid == 0) {
      if (i == 0) execl("/bin/cat", "cat", first, (char*)NULL);
      if (i == 1) execlp("cat", "cat", first, first, (char*)NULL);
      if (i == 2) execle("/bin/cat", "cat", first, (char*)NULL, environ);
      if (i == 3) execvpe("cat", words, environ);
      _exit(99);
    }
    WaitFor(pid);
  }
  errno = 0;
  printf("none %d errno %d\n", execlp("no-such-program", "x", (char*)NULL), errno);
  pid = vfork();
  if (pid == 0) {
    execl(self, self, "plain", data, (char*)NULL);
    _exit(99);
  }
  WaitFor(pid);
  // Children that are started without the recorder's environment.
  char* none[] = {NULL};
  fflush(stdout);
  if (posix_spawn(&pid, "/bin/cat", NULL, NULL, words, none) == 0) WaitFor(pid);
}

static void Seccomp(void) {
  close(Try("before", In("part-1.bin"), O_RDONLY));
  // Only what this function needs itself: anything else ends the program.
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 8, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 7, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 6, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 3, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 2, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 1, 0),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  fflush(stdout);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    printf("no seccomp here\n");
    return;
  }
  close(Try("filtered", In("part-2.bin"), O_RDONLY));
}

static void* OpenInThread(void* number) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/part-%ld.bin", data, (long)(intptr_t)number % 3 + 1);
  const int fd = open(path, O_RDONLY);
  if (fd >= 0) close(fd);
  FILE* file = fopen64(path, "r");
  if (file != NULL) fclose(file);
  return (void*)(intptr_t)(fd >= 0 && file != NULL);
}

static void Threads(void) {
  enum { kThreads = 10000, kAtOnce = 500 };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 2 * PTHREAD_STACK_MIN);
  long good = 0;
  for (int begin = 0; begin < kThreads; begin += kAtOnce) {
    pthread_t threads[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) {
      while (pthread_create(&threads[i], &attributes, &OpenInThread, (void*)(intptr_t)(begin + i)) != 0) usleep(1000);
    }
    for (int i = 0; i < kAtOnce; ++i) {
      void* result = NULL;
      pthread_join(threads[i], &result);
      good += result != NULL;
    }
  }
  printf("threads %ld\n", good);
}

static void OddOpens(void) {
  char deep[PATH_MAX * 2];
  memset(deep, 'x', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  Try("too long", deep, O_RDONLY);
  deep[300] = '\0';
  Try("long name", deep, O_RDONLY);
  Try("none", In("none"), O_RDONLY);
  Try("a folder", In("part-1.bin/x"), O_RDONLY);
  close(Try("not utf-8", In("n\xff\xfe.bin"), O_RDONLY));
  const int temporary = Try("temporary", data, O_TMPFILE | O_RDWR);
  if (temporary >= 0) printf("writes %zd\n", write(temporary, "x", 1));
  const int fd = Try("first", In("part-1.bin"), O_RDONLY);
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  close(Try("by descriptor", link, O_RDONLY));
  const int folder = Try("folder", data, O_RDONLY | O_DIRECTORY);
  errno = 0;
  close(openat(folder, "part-2.bin", O_RDONLY));
  close(openat(folder, "../data/./part-3.bin", O_RDONLY));
  printf("openat errno %d, bad %d", errno, openat(-5, "x", O_RDONLY));
  printf(" errno %d\n", errno);
  const int root = open("/", O_PATH);
  close(openat(root, data + 1, O_RDONLY | O_DIRECTORY));
  snprintf(text, sizeof text, "%s/part-4.bin", data + 1);
  printf("from / %s\n", openat(root, text, O_RDONLY) < 0 ? "fails" : "opens");
  struct {
    struct file_handle handle;
    unsigned char bytes[128];
  } handle = {.handle = {.handle_bytes = 128}};
  int mount = 0;
  if (name_to_handle_at(AT_FDCWD, In("part-1.bin"), &handle.handle, &mount, 0) == 0) {
    const int by = open_by_handle_at(folder, &handle.handle, O_RDONLY);
    printf("by handle %s\n", by < 0 ? strerror(errno) : "opens");
  }
#ifdef SYS_openat2
  struct {
    unsigned long long flags, mode, resolve;
  } how = {O_RDONLY, 0, 0};
  const long raw = syscall(SYS_openat2, AT_FDCWD, In("part-1.bin"), &how, sizeof how);
  printf("openat2 %s\n", raw < 0 ? strerror(errno) : "opens");
#endif
  void* mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
  printf("mapped %s\n", mapped == MAP_FAILED ? "no" : (const char*)mapped);
  errno = 5;
  DIR* dir = opendir(data);
  int names = 0;
  while (readdir(dir) != NULL) ++names;
  printf("names %d errno %d\n", names, errno);
  closedir(dir);
  fflush(stdout);
}

// A working folder below which no path fits into PATH_MAX.
static void DeepFolder(void) {
  char step[201];
  memset(step, 'd', 200);
  step[200] = '\0';
  if (chdir(data) != 0) return;
  for (int i = 0; i < 30; ++i) {
    mkdir(step, 0700);
    if (chdir(step) != 0) printf("chdir %d\n", errno);
  }
  close(Try("made", "here.bin", O_CREAT | O_WRONLY));
  close(Try("deep", "here.bin", O_RDONLY));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  data = argv[2];
  if (strcmp(argv[1], "closefrom") == 0) CloseFrom();
  if (strcmp(argv[1], "spawn") == 0) Spawns(argv[0]);
  if (strcmp(argv[1], "seccomp") == 0) Seccomp();
  if (strcmp(argv[1], "threads") == 0) Threads();
  if (strcmp(argv[1], "odd") == 0) OddOpens();
  if (strcmp(argv[1], "deep") == 0) DeepFolder();
  if (strcmp(argv[1], "plain") == 0) close(Try("plain", In("part-3.bin"), O_RDONLY));
  return 0;
}
