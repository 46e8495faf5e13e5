// Exit codes of every command. Fixed: scripts rely on them.
#ifndef PARITECT_CLIENT_EXIT_CODE_H_
#define PARITECT_CLIENT_EXIT_CODE_H_

namespace paritect {

// `run` ends with the code of the command that it wraps: any value fits.
enum ExitCode : int {
  kExitOk = 0,            // nothing failed
  kExitFailed = 1,        // something failed, differs or was refused as damaged
  kExitUsage = 2,         // usage, plan or configuration error
  kExitNotPerformed = 3,  // nothing failed but a required check was not performed (--complete only)
  kExitServer = 4,        // server not reachable or refused
  kExitTimeout = 5,       // `wait` timed out
  kExitSilentNodes = 6,   // some nodes silent, partial result printed
  kExitInternal = 7,
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_EXIT_CODE_H_
