#include "common/pki/request.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/pki/identity.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"

namespace paritect {

using openssl::UniqueBio;
using openssl::UniqueRequest;

absl::StatusOr<std::string> CertificateRequest::Make(const KeyPair& key, absl::string_view name) {
  PARITECT_RETURN_IF_ERROR(CheckName(name));
  const UniqueRequest request(X509_REQ_new());
  const std::string common_name = CommonNameOf(name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(common_name.data());
  if (request == nullptr || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_NAME_add_entry_by_NID(X509_REQ_get_subject_name(request.get()), NID_commonName, MBSTRING_UTF8, bytes,
                                 static_cast<int>(common_name.size()), -1, 0) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), openssl::SigningDigest(key.get())) <= 0) {
    return openssl::Failure("cannot make a certificate request");
  }
  const UniqueBio bio = openssl::WriteBio();
  if (bio == nullptr || PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1) {
    return openssl::Failure("cannot write a certificate request");
  }
  return openssl::BioText(bio.get());
}

absl::StatusOr<CertificateRequest> CertificateRequest::FromPem(absl::string_view pem) {
  if (pem.size() > kRequestBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a certificate request of ", pem.size(), " bytes is too large; at most ", kRequestBytesMax));
  }
  const UniqueBio bio = openssl::ReadBio(pem);
  if (bio == nullptr) return openssl::Failure("cannot read a certificate request");
  ERR_clear_error();
  UniqueRequest request(PEM_read_bio_X509_REQ(bio.get(), nullptr, openssl::RefusePassphrase, nullptr));
  if (request == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a certificate request in PEM form (", openssl::TakeError(), ")"));
  }
  const UniqueRequest second(PEM_read_bio_X509_REQ(bio.get(), nullptr, openssl::RefusePassphrase, nullptr));
  ERR_clear_error();
  if (second != nullptr) return absl::InvalidArgumentError("more than one certificate request");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate request's key cannot be read (", openssl::TakeError(), ")"));
  }
  PARITECT_RETURN_IF_ERROR(Annotate(openssl::CheckKeyStrength(key), "certificate request"));
  PARITECT_RETURN_IF_ERROR(
      Annotate(openssl::CheckSignatureAlgorithm(X509_REQ_get_signature_nid(request.get())), "certificate request"));
  if (X509_REQ_verify(request.get(), key) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the certificate request is not signed by the key it names");
  }
  return CertificateRequest(std::shared_ptr<X509_REQ>(std::move(request)));
}

}  // namespace paritect
