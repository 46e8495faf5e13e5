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

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_JOIN_TOKEN_H_
