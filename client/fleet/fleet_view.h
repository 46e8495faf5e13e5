// What was found and done on the hosts of a fleet, for people and as JSON.
#ifndef PARITECT_CLIENT_FLEET_FLEET_VIEW_H_
#define PARITECT_CLIENT_FLEET_FLEET_VIEW_H_

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "client/command.h"
#include "client/fleet/rollout.h"
#include "client/report/json.h"

namespace paritect {

// [{"host", "name", "machine", "version", "server", "node", "running", "did": [...], "error": null or text, "state"}]:
// null where it is not known. `states`: of the nodes at the server, by name; empty: it was not asked, "state" is null.
OrderedJson FleetJson(const std::vector<FleetHost>& hosts, const std::map<std::string, std::string>& states);

// Hosts of one fate on one line, "npu-[001-063] (63)"; then each that failed with its reason.
void PrintFates(CommandEnv& env, const std::vector<FleetHost>& hosts, bool dry_run);

// A row a host.
void PrintStatus(CommandEnv& env, const std::vector<FleetHost>& hosts,
                 const std::map<std::string, std::string>& states);

// One line while others are still at work.
void TellProgress(CommandEnv& env, const FleetHost& host, std::size_t done, std::size_t count);

}  // namespace paritect

#endif  // PARITECT_CLIENT_FLEET_FLEET_VIEW_H_
