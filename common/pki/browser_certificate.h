// A credential in the form that browsers import: PKCS#12 (RFC 7292).
#ifndef PARITECT_COMMON_PKI_BROWSER_CERTIFICATE_H_
#define PARITECT_COMMON_PKI_BROWSER_CERTIFICATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/credential.h"

namespace paritect {

// The file's bytes: key, certificate and authority, encrypted under `password`. InvalidArgument: damaged, or no
// password.
absl::StatusOr<std::string> BrowserCertificate(const Credential& credential, const std::string& password);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_BROWSER_CERTIFICATE_H_
