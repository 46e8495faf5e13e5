// The verbs of `paritect audit` that end things or tell what a live comparison saw.
#ifndef PARITECT_CLIENT_REMOTE_AUDIT_EVENTS_H_
#define PARITECT_CLIENT_REMOTE_AUDIT_EVENTS_H_

#include <string>
#include <vector>

#include "client/command.h"
#include "client/remote/connection.h"

namespace paritect {

struct EventsRequest {
  std::string audit;
  bool follow = false;
  bool json = false;
  std::string lang;
};

// Prints the events, and with `follow` those to come; a connection that is lost is made again for a minute. The code:
// kExitFailed where one of them tells of a training gone wrong.
ExitCode PrintEvents(CommandEnv& env, absl::string_view command, const EventsRequest& request, RemoteServer& server);

// `paritect audit events NAME`, `stop NAME`, `rm NAME`
ExitCode AuditEventsVerb(CommandEnv& env, const std::vector<std::string>& args);
ExitCode AuditStopVerb(CommandEnv& env, const std::vector<std::string>& args);
ExitCode AuditRemoveVerb(CommandEnv& env, const std::vector<std::string>& args);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_AUDIT_EVENTS_H_
