// Who a certificate speaks for, as the authority stamps it: the URI "paritect://ROLE/NAME" in the subject alternative
// name. Nothing else in a certificate or a message tells who is calling.
#ifndef PARITECT_COMMON_PKI_IDENTITY_H_
#define PARITECT_COMMON_PKI_IDENTITY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/role.h"

namespace paritect {

struct Identity {
  Role role = Role::kAgent;
  std::string name;  // a node's or a person's; passes CheckName

  friend bool operator==(const Identity&, const Identity&) = default;
};

inline constexpr std::size_t kNameBytesMax = 253;  // that of a host name

// Letters, digits and . _ - @ + of ASCII; the first a letter or a digit; 1 to 253 bytes. So a name is never a path
// ("..", "a/b"), an option ("-x"), a pattern ("gpu-*") or two names that look the same.
// InvalidArgument says what is wrong, with the name made printable.
absl::Status CheckName(absl::string_view name);

// "paritect://agent/gpu-01"; whatever stands in a URI only as %HH is encoded.
std::string IdentityUri(const Identity& identity);
// The reverse, exact: another scheme, an unknown role, a name that breaks the rules, or a spelling that IdentityUri
// would not give is InvalidArgument, so that one identity has one URI.
absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri);

// "agent gpu-01", for messages.
std::string DescribeIdentity(const Identity& identity);

// The subject's common name: the name itself, or where it is longer than X.509 allows (64), its beginning, '~' and
// a part of its SHA-256.
std::string CommonNameOf(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_IDENTITY_H_
