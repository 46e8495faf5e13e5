// An X.509 certificate as bytes and facts. Says nothing of trust: see pin.h and peer.h.
#ifndef PARITECT_COMMON_PKI_CERTIFICATE_H_
#define PARITECT_COMMON_PKI_CERTIFICATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/pki/key_pair.h"

struct x509_st;  // OpenSSL's X509

namespace paritect {

// Subject alternative names, each in the certificate's order; bytes as they stand, IP addresses as text.
struct AlternativeNames {
  std::vector<std::string> dns;
  std::vector<std::string> ip;
  std::vector<std::string> uri;
  std::vector<std::string> email;
};

// Certificates that one PEM text may hold: a chain is two or three.
inline constexpr std::size_t kCertificatesMax = 16;

// Immutable; copies share it; safe to read from several threads.
class Certificate {
 public:
  // The first certificate of a PEM text. Text around it and CRLF do not matter. InvalidArgument: none, or damaged.
  static absl::StatusOr<Certificate> FromPem(absl::string_view pem);
  // All of them, in order, at least one and at most kCertificatesMax. One damaged block refuses the whole.
  static absl::StatusOr<std::vector<Certificate>> ListFromPem(absl::string_view pem);
  // Shares an object that OpenSSL gave (its reference count is raised).
  static Certificate Share(x509_st* certificate);

  std::string ToPem() const;
  std::string ToDer() const;
  // The DER of its SubjectPublicKeyInfo: what a pin hashes.
  std::string PublicKeyDer() const;

  std::string CommonName() const;   // "" where there is none
  std::string Subject() const;      // RFC 2253
  std::string Issuer() const;       // RFC 2253
  std::string SerialHex() const;    // lower case, two digits a byte
  std::string Fingerprint() const;  // SHA-256 of the DER, 64 lower-case hexadecimal digits
  std::int64_t NotBefore() const;   // Unix seconds; a malformed time counts as expired since ever
  std::int64_t NotAfter() const;    // Unix seconds
  AlternativeNames Names() const;
  bool IsAuthority() const;             // basicConstraints CA:TRUE, and keyUsage, if any, allows signing
  bool Fits(const KeyPair& key) const;  // holds this key's public half
  // The signature alone, no dates or purposes.
  bool IsSignedBy(const Certificate& issuer) const;

  x509_st* get() const { return certificate_.get(); }

 private:
  explicit Certificate(std::shared_ptr<x509_st> certificate) : certificate_(std::move(certificate)) {}
  std::shared_ptr<x509_st> certificate_;  // never null
};

// Their PEM blocks, one after the other.
std::string ToPem(absl::Span<const Certificate> certificates);

// "2026-11-30 10:00:00 UTC", for messages.
std::string FormatUtc(std::int64_t unix_seconds);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_CERTIFICATE_H_
