// The exit code that a report asks for.
#ifndef PARITECT_CLIENT_REPORT_EXIT_H_
#define PARITECT_CLIENT_REPORT_EXIT_H_

#include "client/exit_code.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

// kExitFailed where something failed; with `complete`, kExitNotPerformed where a required check was not performed; else
// kExitOk. The same whatever the format.
ExitCode CodeOfReport(const v1::Report& report, bool complete);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_EXIT_H_
