// The database in a server's folder, as the maintenance verbs open it.
#ifndef PARITECT_SERVER_COMMANDS_SERVER_STORE_H_
#define PARITECT_SERVER_COMMANDS_SERVER_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/fleet_store.h"

namespace paritect {

std::string DatabaseOf(const std::string& folder);

// Unavailable "...; stop the server first": a server runs.
absl::StatusOr<std::unique_ptr<FleetStore>> OpenStoreOf(const std::string& folder,
                                                        LostCommits lost_commits = LostCommits::kRefuse);

}  // namespace paritect

#endif  // PARITECT_SERVER_COMMANDS_SERVER_STORE_H_
