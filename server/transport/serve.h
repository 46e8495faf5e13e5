// A whole server: folder, store, writer, fleet, audits, transport, put together and taken apart in order.
#ifndef PARITECT_SERVER_TRANSPORT_SERVE_H_
#define PARITECT_SERVER_TRANSPORT_SERVE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/net/listener.h"
#include "server/audits/audits.h"
#include "server/server_command.h"
#include "server/server_log.h"
#include "server/transport/webhook.h"

namespace paritect {

struct ServeOptions {
  std::string folder;
  std::string listen = "0.0.0.0:7400";
  std::string web;    // "": none
  std::string store;  // "": FOLDER/paritect.db
  bool insecure_loopback = false;
  AuditOptionsOfServer audits;
  ListenerOptions listener;
  TargetRules webhook_targets;
  std::int64_t lifetime_s = 0;  // of agents' certificates; 0: a day
  std::int64_t retain_s = 0;    // 0: keep everything
  ServerLog::Form log_form = ServerLog::Form::kText;
};

// Runs until SIGTERM or SIGINT, then drains. The ports are told in the log.
absl::Status Serve(ServerEnv& env, const ServeOptions& options);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_SERVE_H_
