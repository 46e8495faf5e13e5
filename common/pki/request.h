// Certificate signing requests (PKCS#10). A request proves that the asker holds a key; the name in it is a wish.
#ifndef PARITECT_COMMON_PKI_REQUEST_H_
#define PARITECT_COMMON_PKI_REQUEST_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/pki/key_pair.h"

struct X509_req_st;  // OpenSSL's X509_REQ

namespace paritect {

// RSA 8192 with a few extensions stays below half of it.
inline constexpr std::size_t kRequestBytesMax = 16 << 10;

// Immutable and verified: its signature was made with the key it names, and the key is strong enough.
class CertificateRequest {
 public:
  // A request for `name` (CheckName) as PEM, signed by `key`.
  static absl::StatusOr<std::string> Make(const KeyPair& key, absl::string_view name);

  // InvalidArgument: larger than kRequestBytesMax, no or more than one PEM block, damaged, a weak key (below P-256 or
  // RSA 2048), a signature with MD5 or SHA-1, a signature that another key made.
  static absl::StatusOr<CertificateRequest> FromPem(absl::string_view pem);

  X509_req_st* get() const { return request_.get(); }

 private:
  explicit CertificateRequest(std::shared_ptr<X509_req_st> request) : request_(std::move(request)) {}
  std::shared_ptr<X509_req_st> request_;  // never null
};

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_REQUEST_H_
