// The database of a server, as the maintenance verbs open it: in its folder, or where --store says.
#ifndef PARITECT_SERVER_COMMANDS_SERVER_STORE_H_
#define PARITECT_SERVER_COMMANDS_SERVER_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/fleet_store.h"

namespace paritect {

std::string DatabaseOf(const std::string& folder);

inline constexpr char kStoreHelp[] = "where the server's database is, if `run` has --store";

// `store`: empty: in the folder. Unavailable "...; stop the server first": a server runs.
absl::StatusOr<std::unique_ptr<FleetStore>> OpenStoreOf(const std::string& folder, const std::string& store = "",
                                                        LostCommits lost_commits = LostCommits::kRefuse);

}  // namespace paritect

#endif  // PARITECT_SERVER_COMMANDS_SERVER_STORE_H_
