// Join tokens: what lets a node or a person enrol once. The server stores their digest alone; a token is 160 random
// bits, so the digest needs no salt and guessing is hopeless.
#ifndef PARITECT_COMMON_PKI_JOIN_TOKEN_H_
#define PARITECT_COMMON_PKI_JOIN_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// "pjt-" and eight groups of four of a-z2-7 (RFC 4648 base32, lower case), joined by '-'.
absl::StatusOr<std::string> NewToken();

// SHA-256 of the token's normal form, 64 lower-case hexadecimal digits. Case, '-' and blanks do not matter, as tokens
// are typed and pasted. InvalidArgument where it cannot be a token; the message does not repeat it.
absl::StatusOr<std::string> TokenDigest(absl::string_view token);

// A token may be bound to the name of one node, or to a pattern that many names fit ("npu-*", "gpu-[0-3]?", as
// GlobMatch reads it): no name holds what makes a pattern.
bool IsNamePattern(absl::string_view bound);
// InvalidArgument: neither a name (CheckName) nor a pattern of names.
absl::Status CheckTokenNode(absl::string_view bound);
// Whether a node of this name may join with a token that is bound so; "" binds nothing.
bool TokenServes(absl::string_view bound, absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_JOIN_TOKEN_H_
