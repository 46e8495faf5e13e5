// Of storage_test: what needs no server.
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
