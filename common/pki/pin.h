// Trust by hash: a node knows its server's authority by "sha256:<64 hexadecimal digits>", the SHA-256 of the DER
// SubjectPublicKeyInfo of the authority's certificate (as RFC 7469 pins; kubeadm uses the same form). A pin outlives a
// renewal of the certificate with the same key.
#ifndef PARITECT_COMMON_PKI_PIN_H_
#define PARITECT_COMMON_PKI_PIN_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/pki/certificate.h"

namespace paritect {

class CaPin {
 public:
  static CaPin Of(const Certificate& authority);
  // Any case, blanks around it. InvalidArgument says what a pin looks like and where it is printed.
  static absl::StatusOr<CaPin> Parse(absl::string_view text);

  std::string ToString() const;
  // In constant time.
  bool Matches(const Certificate& certificate) const;

 private:
  explicit CaPin(std::string digest) : digest_(std::move(digest)) {}
  std::string digest_;  // 32 bytes
};

// What a chain is asked for.
struct ChainQuery {
  enum class Purpose { kServer, kClient };
  Purpose purpose = Purpose::kServer;
  std::int64_t now = 0;  // Unix seconds
  std::string host;      // a name or an IP address that the leaf must carry; "": not checked
};

// Whether `chain` (as a TLS peer sends it: leaf first, the others in any order) leads from its leaf to `anchor`, with
// every signature, date (of the anchor too), purpose and, if asked, the host in order.
// Unauthenticated: not signed by the anchor, another purpose, another host (the names it has are told);
// FailedPrecondition: expired or not yet valid, with the dates and what to do. InvalidArgument: an empty chain.
absl::Status VerifyChain(absl::Span<const Certificate> chain, const Certificate& anchor, const ChainQuery& query);

// The same where the anchor is the one authority in `chain` that matches `pin`; gives it.
// PermissionDenied where none matches: another server, or someone in between.
absl::StatusOr<Certificate> VerifyPinnedChain(absl::Span<const Certificate> chain, const CaPin& pin,
                                              const ChainQuery& query);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_PIN_H_
