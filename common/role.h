// What a caller may be. A certificate carries exactly one role; what a role may call is the server's table.
#ifndef PARITECT_COMMON_ROLE_H_
#define PARITECT_COMMON_ROLE_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace paritect {

enum class Role {
  kAgent,     // a node's daemon: writes its own evidence, reads nothing of others
  kViewer,    // reads
  kOperator,  // reads, runs audits, attests and waives
  kAdmin,     // all of it, and tokens, revocation, retention
};

inline constexpr Role kAllRoles[] = {Role::kAgent, Role::kViewer, Role::kOperator, Role::kAdmin};

// "agent", "viewer", "operator", "admin".
inline constexpr absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kAgent: return "agent";
    case Role::kViewer: return "viewer";
    case Role::kOperator: return "operator";
    case Role::kAdmin: return "admin";
  }
  return "";
}

// Exactly one of the four words, lower case; else nullopt.
inline std::optional<Role> ParseRole(absl::string_view text) {
  for (const Role role : kAllRoles) {
    if (text == RoleName(role)) return role;
  }
  return std::nullopt;
}

}  // namespace paritect

#endif  // PARITECT_COMMON_ROLE_H_
