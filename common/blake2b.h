// BLAKE2b with a digest of 16 bytes and no key (RFC 7693): by it the observer tells the order of samples. OpenSSL has
// only the 64-byte form, which is another function.
#ifndef PARITECT_COMMON_BLAKE2B_H_
#define PARITECT_COMMON_BLAKE2B_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// The raw digest, 16 bytes.
std::string Blake2b128(absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_COMMON_BLAKE2B_H_
