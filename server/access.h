// Which role may call which RPC: one table that must name every RPC (the build runs CheckAccessTable over the services'
// descriptors and fails for one without a rule). What is not in the table is refused.
#ifndef PARITECT_SERVER_ACCESS_H_
#define PARITECT_SERVER_ACCESS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/role.h"

namespace paritect {

// Roles are no ladder: an admin is not an agent, so that no person's credential can write evidence as a node.
struct AccessRule {
  absl::string_view method;  // "/paritect.v1.Operators/ListNodes"
  std::vector<Role> roles;
};

absl::Span<const AccessRule> AccessRules();

// `role` nullopt: a caller without certificate. Unauthenticated, PermissionDenied: with who may.
absl::Status CheckAccess(absl::string_view method, std::optional<Role> role);

// Of these full method names, those without a rule; and rules without a method.
std::vector<std::string> AccessTableFaults(absl::Span<const std::string> methods);

}  // namespace paritect

#endif  // PARITECT_SERVER_ACCESS_H_
