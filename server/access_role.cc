#include "server/access_role.h"

namespace paritect {

v1::AccessRole ToProto(Role role) {
  switch (role) {
    case Role::kAgent: return v1::ACCESS_ROLE_AGENT;
    case Role::kViewer: return v1::ACCESS_ROLE_VIEWER;
    case Role::kOperator: return v1::ACCESS_ROLE_OPERATOR;
    case Role::kAdmin: return v1::ACCESS_ROLE_ADMIN;
  }
  return v1::ACCESS_ROLE_UNSPECIFIED;
}

std::optional<Role> FromProto(v1::AccessRole role) {
  for (const Role known : kAllRoles) {
    if (ToProto(known) == role) return known;
  }
  return std::nullopt;
}

}  // namespace paritect
