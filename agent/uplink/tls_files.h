// What a connection needs to be known and to know its server, and what gRPC needs once a process. Without gRPC's
// headers.
#ifndef PARITECT_AGENT_UPLINK_TLS_FILES_H_
#define PARITECT_AGENT_UPLINK_TLS_FILES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// What TLS needs, as PEM. Without certificate and key (both empty) the caller stays unknown: for Join alone.
struct TlsFiles {
  std::string authority_pem;
  std::string certificate_pem;
  std::string key_pem;
};

// Once, before anything of gRPC is used: no fork handlers, and gRPC's own log lines are kept to explain failures
// instead of being printed. `verbose`: also handed to `log`, on any thread.
void PrepareGrpc(void (*verbose)(absl::string_view line));

}  // namespace paritect

#endif  // PARITECT_AGENT_UPLINK_TLS_FILES_H_
