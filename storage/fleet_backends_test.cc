// Which stores storage_test runs the contract of storage/fleet_store_test.cc over: those that need no server. It holds no
// test itself; the same three functions for PostgreSQL stand in storage/postgresql/test_server.cc.
#include "storage/fleet_test_util.h"

namespace paritect {

std::vector<std::string> TestBackends() {
  return {"sqlite", "memory"};
}

std::string NewTestStore(const std::string& backend) {
  return backend == "sqlite" ? absl::StrCat("sqlite:", NewStorePath("contract")) : "memory:";
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenTestStore(const std::string& uri) {
  return OpenFleetStore(uri);
}

}  // namespace paritect
