// What is run on a host of a fleet, in the POSIX shell. Programs and services are handled there by the scripts of the
// bundle (deploy/agent/): these find out, unpack and call.
#ifndef PARITECT_CLIENT_FLEET_HOST_SCRIPTS_H_
#define PARITECT_CLIENT_FLEET_HOST_SCRIPTS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// All take $1 PREFIX and $2 STATE, each "" or "-" for the default; a prefix that is not absolute lies in the user's
// home.

// Changes nothing. Prints kProbeBegin, then lines "WORD VALUE": machine, name, uid, version, packaged, joined, running.
std::string ProbeScript();
inline constexpr absl::string_view kProbeBegin = "paritect-probe 1";
// Reads a bundle (tar, gzip) from standard input and installs it.
std::string InstallScript();
// $3 SERVER $4 CA-PIN $5 NODE $6 ROOTS $7 "restart" or "-"; reads the token from standard input.
std::string StartScript();
// $3 "purge" or "-".
std::string UninstallScript();

}  // namespace paritect

#endif  // PARITECT_CLIENT_FLEET_HOST_SCRIPTS_H_
