// The linker's start file calls __libc_start_main in its newest version (--wrap leads it here). It passes no
// initialisers from 2.34 on, and older C libraries take none as well (csu/libc-start.c of glibc 2.17 to 2.33); this
// program has none.
#include "agent/probe/old_c_library.h"

typedef int (*main_function)(int, char**, char**);
int __wrap___libc_start_main(main_function program, int argc, char** argv, void (*init)(void), void (*fini)(void),
                             void (*loader_fini)(void), void* stack_end);
int paritect_oldest_start(main_function program, int argc, char** argv, void (*init)(void), void (*fini)(void),
                          void (*loader_fini)(void), void* stack_end);
__asm__(".symver paritect_oldest_start, __libc_start_main@" PARITECT_OLDEST);

int __wrap___libc_start_main(main_function program, int argc, char** argv, void (*init)(void), void (*fini)(void),
                             void (*loader_fini)(void), void* stack_end) {
  return paritect_oldest_start(program, argc, argv, init, fini, loader_fini, stack_end);
}
