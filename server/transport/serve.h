// A server as a process: its folder and store, the parts (wiring.h), and the signal that ends it.
#ifndef PARITECT_SERVER_TRANSPORT_SERVE_H_
#define PARITECT_SERVER_TRANSPORT_SERVE_H_

#include "absl/status/status.h"
#include "server/server_command.h"
#include "server/transport/wiring.h"

namespace paritect {

// Runs until SIGTERM or SIGINT, then drains. The ports are told in the log.
absl::Status Serve(ServerEnv& env, const ServeOptions& options);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_SERVE_H_
