// What the hooks share: the program's own function behind a hook, looked up once.
#ifndef PARITECT_AGENT_TRACE_TRACE_HOOKS_H_
#define PARITECT_AGENT_TRACE_TRACE_HOOKS_H_

#include <errno.h>
#include <stddef.h>

#include "agent/trace/trace.h"

// `name`: the symbol, where the compiler may have another spelling of the function in mind.
#define RESOLVE_AS(function, name) \
  if (next_##function == NULL) *(void**)&next_##function = TraceNext(name)
#define RESOLVE(function) RESOLVE_AS(function, #function)
// In a hook: a C library without this function has nobody who calls it.
#define NEED_AS(function, name, none) \
  TraceStart();                       \
  RESOLVE_AS(function, name);         \
  if (next_##function == NULL) {      \
    errno = ENOSYS;                   \
    return none;                      \
  }
#define NEED(function, none) NEED_AS(function, #function, none)

#endif  // PARITECT_AGENT_TRACE_TRACE_HOOKS_H_
