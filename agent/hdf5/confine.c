#include "agent/hdf5/confine.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define MEMORY_BYTES_MAX (1ull << 30)
#define PROCESSOR_SECONDS_MAX 600

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static void Limit(int what, rlim_t most) {
  const struct rlimit limit = {most, most};
  setrlimit((__rlimit_resource_t)what, &limit);
}

void LimitResources(void) {
#ifndef __SANITIZE_ADDRESS__
  Limit(RLIMIT_AS, MEMORY_BYTES_MAX);
#endif
  Limit(RLIMIT_CPU, PROCESSOR_SECONDS_MAX);
  Limit(RLIMIT_NOFILE, 16);
  Limit(RLIMIT_NPROC, 0);
  Limit(RLIMIT_CORE, 0);
}

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

void ForbidSystemCalls(void) {
#ifdef ARCHITECTURE
  static struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(read),
      ALLOW(pread64),
      ALLOW(write),
      ALLOW(lseek),
      ALLOW(fstat),
#ifdef __NR_newfstatat
      ALLOW(newfstatat),
#endif
      ALLOW(close),
      ALLOW(mmap),
      ALLOW(munmap),
      ALLOW(mremap),
      ALLOW(mprotect),
      ALLOW(madvise),
      ALLOW(brk),
      ALLOW(futex),
      ALLOW(clock_gettime),
      ALLOW(gettimeofday),
      ALLOW(getrandom),
      ALLOW(rt_sigreturn),
      ALLOW(exit),
      ALLOW(exit_group),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  static const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#endif
}
