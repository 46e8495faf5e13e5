// A private key with its public half. Immutable; copies share it; safe to read from several threads.
#ifndef PARITECT_COMMON_PKI_KEY_PAIR_H_
#define PARITECT_COMMON_PKI_KEY_PAIR_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace paritect {

class KeyPair {
 public:
  // A new P-256 key. Internal where OpenSSL has no randomness.
  static absl::StatusOr<KeyPair> Generate();

  // The first private key of a PEM text: PKCS#8, SEC1 or PKCS#1; what stands around it and CRLF do not matter.
  // InvalidArgument: none there, damaged, encrypted (nobody is asked for a passphrase), weaker than P-256 or RSA 2048.
  static absl::StatusOr<KeyPair> FromPem(absl::string_view pem);

  // PKCS#8, not encrypted.
  absl::StatusOr<std::string> ToPem() const;

  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit KeyPair(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;  // never null
};

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_KEY_PAIR_H_
