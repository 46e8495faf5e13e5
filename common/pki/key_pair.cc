#include "common/pki/key_pair.h"

#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"

namespace paritect {

using openssl::UniqueBio;
using openssl::UniqueKey;

absl::StatusOr<KeyPair> KeyPair::Generate() {
  UniqueKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return openssl::Failure("cannot make a key");
  return KeyPair(std::shared_ptr<EVP_PKEY>(std::move(key)));
}

absl::StatusOr<KeyPair> KeyPair::FromPem(absl::string_view pem) {
  const UniqueBio bio = openssl::ReadBio(pem);
  if (bio == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("a private key of ", pem.size(), " bytes is too large"));
  }
  bool encrypted = false;
  UniqueKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, openssl::RefusePassphrase, &encrypted));
  if (key == nullptr) {
    const std::string reason = openssl::TakeError();
    if (encrypted) {
      return absl::InvalidArgumentError(
          "the private key is encrypted; decrypt it first: openssl pkey -in OLD -out NEW");
    }
    return absl::InvalidArgumentError(absl::StrCat("not a private key in PEM form (", reason, ")"));
  }
  openssl::TakeError();
  PARITECT_RETURN_IF_ERROR(openssl::CheckKeyStrength(key.get()));
  return KeyPair(std::shared_ptr<EVP_PKEY>(std::move(key)));
}

absl::StatusOr<std::string> KeyPair::ToPem() const {
  const UniqueBio bio = openssl::WriteBio();
  if (bio == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl::Failure("cannot write a private key");
  }
  return openssl::BioText(bio.get());
}

}  // namespace paritect
