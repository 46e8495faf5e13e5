// A server as a process: its folder and store, the parts (wiring.h), and the signal that ends it.
#ifndef PARITECT_SERVER_TRANSPORT_SERVE_H_
#define PARITECT_SERVER_TRANSPORT_SERVE_H_

#include <functional>

#include "absl/status/status.h"
#include "server/server_command.h"
#include "server/transport/wiring.h"

namespace paritect {

// Runs until SIGTERM or SIGINT, then drains. `ready` is called once, with the port.
absl::Status Serve(ServerEnv& env, const ServeOptions& options, std::function<void(int port, int web_port)> ready);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_SERVE_H_
