// The same as a rollout by ssh, as text for the tool that a site has for its hosts: an Ansible playbook, or lines for
// pdsh. It holds no token: that stays in a file of the user's.
#ifndef PARITECT_CLIENT_FLEET_PRINTED_COMMANDS_H_
#define PARITECT_CLIENT_FLEET_PRINTED_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/fleet/rollout.h"

namespace paritect {

// `tool`: "ansible" or "pdsh"; InvalidArgument else, or where the tool cannot do what is asked.
absl::StatusOr<std::string> PrintedCommands(absl::string_view tool, const std::vector<std::string>& hosts,
                                            const RolloutOptions& options, bool as_root);

}  // namespace paritect

#endif  // PARITECT_CLIENT_FLEET_PRINTED_COMMANDS_H_
