// Which stores storage_test runs the contract of storage/fleet_store_test.cc over: all of the list, which need no server. It
// holds no test itself; the same three functions for PostgreSQL stand in storage/postgresql/test_server.cc.
#include "storage/fleet_test_util.h"

namespace paritect {

#define PARITECT_FLEET_STORE(name) extern const FleetBackend k##name##FleetBackend;
#include "storage/all_fleet_stores.inc"
#undef PARITECT_FLEET_STORE

std::vector<std::string> TestBackends() {
  std::vector<std::string> schemes;
#define PARITECT_FLEET_STORE(name) schemes.emplace_back(k##name##FleetBackend.scheme);
#include "storage/all_fleet_stores.inc"
#undef PARITECT_FLEET_STORE
  return schemes;
}

std::string NewTestStore(const std::string& backend) {
  return absl::StrCat(backend, ":", NewStorePath("contract"));
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenTestStore(const std::string& uri) {
  return OpenFleetStore(uri);
}

}  // namespace paritect
