// From the certificate of a TLS peer, which the handshake has verified, to who is calling.
#ifndef PARITECT_COMMON_PKI_PEER_H_
#define PARITECT_COMMON_PKI_PEER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"

namespace paritect {

struct Peer {
  Identity identity;
  std::string serial_hex;      // lower case, two digits a byte
  std::string fingerprint;     // SHA-256 of the certificate, lower-case hexadecimal: what revocation names
  std::int64_t not_after = 0;  // Unix seconds
  std::string issuer;          // RFC 2253
};

// Certificates that another authority made carry no stamp; this table of the server (identities.yaml) names them:
//   identities:
//     - {subject_cn: "gpu-*.example.com", role: agent}                # the name is the matched text
//     - {san: "dns:audit.example.com", role: operator, name: audit}   # dns: | ip: | uri: | email:
// '*' stands for any bytes, the first line that matches wins; dns: ignores case and gives lower case. A name is
// CheckName's.
class IdentityMap {
 public:
  // InvalidArgument "LINE:COLUMN: message": not YAML, an unknown key, a line that matches nothing or names no role.
  static absl::StatusOr<IdentityMap> Parse(absl::string_view yaml);
  bool empty() const { return entries_.empty(); }
  // NotFound where no line matches, with what the certificate carries; InvalidArgument where the name that it gives
  // breaks the rules.
  absl::StatusOr<Identity> Find(const Certificate& certificate) const;

 private:
  enum class Field { kCommonName, kDns, kIp, kUri, kEmail };
  struct Entry {
    Field field = Field::kCommonName;
    std::string pattern;
    Role role = Role::kAgent;
    std::string name;  // "": the matched text
  };
  friend struct IdentityMapReader;
  std::vector<Entry> entries_;
};

// The stamp of our own authority: exactly one "paritect://" URI, and the common name that goes with it.
// Unauthenticated: no stamp, several, or a damaged one.
absl::StatusOr<Identity> StampedIdentity(const Certificate& certificate);

// The first certificate of `pem`, as gRPC's "x509_pem_cert" gives it, with its stamp. InvalidArgument: not one.
absl::StatusOr<Peer> ParsePeer(absl::string_view pem);

// How a server with certificates of another authority reads them. Where that authority cannot be trusted to keep
// "paritect://" to us (we do not hold its key), stamps count for nothing and the table alone decides.
struct PeerPolicy {
  bool stamps_count = true;
  const IdentityMap* table = nullptr;  // borrowed for the call; nullptr: none
};
absl::StatusOr<Peer> ParsePeer(absl::string_view pem, const PeerPolicy& policy);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_PEER_H_
