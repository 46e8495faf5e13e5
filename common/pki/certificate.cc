#include "common/pki/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <arpa/inet.h>

#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/digest.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using openssl::UniqueBio;
using openssl::UniqueX509;

// i2d_X: the size is asked for first, then written where the pointer stands.
template <typename T, typename Encode>
std::string Der(const T* object, Encode encode) {
  unsigned char* bytes = nullptr;
  const int size = encode(object, &bytes);
  if (size <= 0) return "";
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

std::string NameText(const X509_NAME* name) {
  const UniqueBio bio = openssl::WriteBio();
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0) return "";
  return openssl::BioText(bio.get());
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const unsigned char* bytes = ASN1_STRING_get0_data(address);
  const int size = ASN1_STRING_length(address);
  if (size == 4) inet_ntop(AF_INET, bytes, text, sizeof(text));
  if (size == 16) inet_ntop(AF_INET6, bytes, text, sizeof(text));
  return text;
}

bool IsEndOfPem() {
  return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

}  // namespace

absl::StatusOr<std::vector<Certificate>> Certificate::ListFromPem(absl::string_view pem) {
  const UniqueBio bio = openssl::ReadBio(pem);
  if (bio == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("a certificate file of ", pem.size(), " bytes is too large"));
  }
  ERR_clear_error();
  std::vector<Certificate> list;
  while (true) {
    UniqueX509 certificate(PEM_read_bio_X509(bio.get(), nullptr, openssl::RefusePassphrase, nullptr));
    if (certificate == nullptr) break;
    // OpenSSL parses the extensions when they are first asked for; asking now makes the object read-only.
    if ((X509_get_extension_flags(certificate.get()) & EXFLAG_INVALID) != 0) {
      ERR_clear_error();
      return absl::InvalidArgumentError("a certificate with damaged extensions");
    }
    if (list.size() == kCertificatesMax) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kCertificatesMax, " certificates"));
    }
    list.push_back(Certificate(std::shared_ptr<X509>(std::move(certificate))));
  }
  const bool at_end = IsEndOfPem();
  const std::string reason = openssl::TakeError();
  if (!at_end) return absl::InvalidArgumentError(absl::StrCat("a damaged certificate (", reason, ")"));
  if (list.empty()) return absl::InvalidArgumentError("no certificate in PEM form");
  return list;
}

absl::StatusOr<Certificate> Certificate::FromPem(absl::string_view pem) {
  PARITECT_ASSIGN_OR_RETURN(const std::vector<Certificate> list, ListFromPem(pem));
  return list.front();
}

Certificate Certificate::Share(x509_st* certificate) {
  X509_up_ref(certificate);
  X509_get_extension_flags(certificate);
  return Certificate(std::shared_ptr<X509>(UniqueX509(certificate)));
}

std::string Certificate::ToPem() const {
  const UniqueBio bio = openssl::WriteBio();
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), get()) != 1) return "";
  return openssl::BioText(bio.get());
}

std::string Certificate::ToDer() const {
  return Der(get(), i2d_X509);
}
std::string Certificate::PublicKeyDer() const {
  return Der(X509_get_X509_PUBKEY(get()), i2d_X509_PUBKEY);
}
std::string Certificate::CommonName() const {
  return openssl::CommonName(X509_get_subject_name(get()));
}
std::string Certificate::Subject() const {
  return NameText(X509_get_subject_name(get()));
}
std::string Certificate::Issuer() const {
  return NameText(X509_get_issuer_name(get()));
}
std::string Certificate::SerialHex() const {
  return ToHex(openssl::StringBytes(X509_get0_serialNumber(get())));
}
std::string Certificate::Fingerprint() const {
  return ToHex(Sha256(ToDer()));
}

std::int64_t Certificate::NotBefore() const {
  return openssl::UnixSeconds(X509_get0_notBefore(get())).value_or(INT64_MAX);
}

std::int64_t Certificate::NotAfter() const {
  return openssl::UnixSeconds(X509_get0_notAfter(get())).value_or(INT64_MIN);
}

AlternativeNames Certificate::Names() const {
  AlternativeNames names;
  const openssl::UniqueGeneralNames all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(get(), NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) names.dns.push_back(openssl::StringBytes(name->d.dNSName));
    if (name->type == GEN_URI) names.uri.push_back(openssl::StringBytes(name->d.uniformResourceIdentifier));
    if (name->type == GEN_EMAIL) names.email.push_back(openssl::StringBytes(name->d.rfc822Name));
    if (name->type == GEN_IPADD) names.ip.push_back(AddressText(name->d.iPAddress));
  }
  return names;
}

bool Certificate::IsAuthority() const {
  const std::uint32_t flags = X509_get_extension_flags(get());
  const std::uint32_t usage = X509_get_key_usage(get());  // all bits where there is no such extension
  return (flags & EXFLAG_CA) != 0 && (usage & KU_KEY_CERT_SIGN) != 0;
}

bool Certificate::Fits(const KeyPair& key) const {
  const EVP_PKEY* own = X509_get0_pubkey(get());
  const bool fits = own != nullptr && EVP_PKEY_eq(own, key.get()) == 1;
  ERR_clear_error();
  return fits;
}

bool Certificate::IsSignedBy(const Certificate& issuer) const {
  EVP_PKEY* key = X509_get0_pubkey(issuer.get());
  const bool good = key != nullptr && X509_verify(get(), key) == 1;
  ERR_clear_error();
  return good;
}

std::string ToPem(absl::Span<const Certificate> certificates) {
  std::string pem;
  for (const Certificate& certificate : certificates) pem += certificate.ToPem();
  return pem;
}

std::string FormatUtc(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts = {};
  if (gmtime_r(&time, &parts) == nullptr) return absl::StrCat(unix_seconds, " s");
  return absl::StrFormat("%04d-%02d-%02d %02d:%02d:%02d UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                         parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace paritect
