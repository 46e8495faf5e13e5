// The certificate authority of one Paritect server. It stamps identities: what a certificate says of its holder comes
// from the caller of Sign..., never from the request. Time is given as Unix seconds.
//
// All certificates: X.509 v3, random 128-bit serial, SHA-256 signature, subject and authority key identifiers; leaves
// with basicConstraints CA:FALSE, keyUsage digitalSignature. Source: RFC 5280.
#ifndef PARITECT_COMMON_PKI_AUTHORITY_H_
#define PARITECT_COMMON_PKI_AUTHORITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"
#include "common/pki/key_pair.h"
#include "common/pki/request.h"

namespace paritect {

inline constexpr std::int64_t kDaySeconds = 24 * 60 * 60;
inline constexpr std::int64_t kAuthorityLifetimeSeconds = 3652 * kDaySeconds;  // ten years
inline constexpr std::int64_t kClientLifetimeSeconds = kDaySeconds;            // the default of an agent's
inline constexpr std::int64_t kLifetimeSecondsMin = 60;
// Client certificates are checked by the server's clock, which also dates them.
inline constexpr std::int64_t kClientSkewSeconds = 5 * 60;
// The authority's and the server's are checked by every node's clock, which may be a day behind.
inline constexpr std::int64_t kServerSkewSeconds = kDaySeconds;

// Immutable; safe to use from several threads.
class Authority {
 public:
  // Self-signed, P-256, CN "Paritect CA <16 hex digits>", CA:TRUE with pathlen 0, keyUsage certSign and crlSign.
  static absl::StatusOr<Authority> Create(std::int64_t now);

  // The first certificate of `certificate_pem` and its key. InvalidArgument: damaged, the key does not fit, not an
  // authority. FailedPrecondition: not valid at `now`.
  static absl::StatusOr<Authority> FromPem(absl::string_view certificate_pem, absl::string_view key_pem,
                                           std::int64_t now);

  // A client certificate: CN CommonNameOf(name), URI IdentityUri(identity), extendedKeyUsage clientAuth; valid from
  // five minutes before `now` for `lifetime_seconds` after it, never longer than the authority itself.
  // InvalidArgument: a name against the rules, a lifetime below kLifetimeSecondsMin.
  absl::StatusOr<Certificate> SignClient(const CertificateRequest& request, const Identity& identity,
                                         std::int64_t lifetime_seconds, std::int64_t now) const;

  // A server certificate: extendedKeyUsage serverAuth; `hosts` (names and IP addresses) as alternative names, the
  // first also as CN where it fits. InvalidArgument: no host, or one that is neither.
  absl::StatusOr<Certificate> SignServer(const CertificateRequest& request, absl::Span<const std::string> hosts,
                                         std::int64_t lifetime_seconds, std::int64_t now) const;

  const Certificate& certificate() const { return certificate_; }
  const KeyPair& key() const { return key_; }

 private:
  Authority(Certificate certificate, KeyPair key) : certificate_(std::move(certificate)), key_(std::move(key)) {}
  Certificate certificate_;
  KeyPair key_;
};

// What a server certificate is made for: `hosts` in order, then localhost, `host_name` where it is a valid name,
// 127.0.0.1 and ::1; none twice. A host in brackets ("[::1]") loses them.
std::vector<std::string> ServerHosts(absl::Span<const std::string> hosts, absl::string_view host_name);

// A DNS name (labels of letters, digits, '-' and '_', at most 253 bytes; the first of three or more labels
// may be "*") or an IP address.
absl::Status CheckHost(absl::string_view host);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_AUTHORITY_H_
