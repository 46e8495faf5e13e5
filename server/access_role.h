// The roles of certificates as messages carry them.
#ifndef PARITECT_SERVER_ACCESS_ROLE_H_
#define PARITECT_SERVER_ACCESS_ROLE_H_

#include <optional>

#include "common/role.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

v1::AccessRole ToProto(Role role);
std::optional<Role> FromProto(v1::AccessRole role);

}  // namespace paritect

#endif  // PARITECT_SERVER_ACCESS_ROLE_H_
