// Binds what this program needs of the C library to the oldest version of it: hosts with Ascend NPUs have C libraries
// from 2.28 on (2.34 gave these functions new versions with the same meaning). Included by every file that calls one of
// them.
#ifndef PARITECT_AGENT_PROBE_OLD_C_LIBRARY_H_
#define PARITECT_AGENT_PROBE_OLD_C_LIBRARY_H_

#if defined(__x86_64__)
#define PARITECT_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define PARITECT_OLDEST "GLIBC_2.17"
#endif

#ifdef PARITECT_OLDEST
__asm__(".symver dlopen, dlopen@" PARITECT_OLDEST);
__asm__(".symver dlsym, dlsym@" PARITECT_OLDEST);
__asm__(".symver dlerror, dlerror@" PARITECT_OLDEST);
#endif

#endif  // PARITECT_AGENT_PROBE_OLD_C_LIBRARY_H_
