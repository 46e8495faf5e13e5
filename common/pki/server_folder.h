// The folder of one server, as `paritect-server init DIR` makes it:
//
//   ca.pem            the authority; its pin is what nodes are given      0644
//   ca.key            its key; absent where another authority signs       0600
//   server.pem        the server's certificate, its intermediates         0644
//   server.key                                                            0600
//   admin.credential  the first admin's (common/credential.h)             0600
//   identities.yaml   who holds certificates of another authority (peer.h), where there is one
//
// The database (paritect.db) lies beside them; it is the server's.
#ifndef PARITECT_COMMON_PKI_SERVER_FOLDER_H_
#define PARITECT_COMMON_PKI_SERVER_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/credential.h"
#include "common/pki/authority.h"
#include "common/pki/peer.h"
#include "common/pki/pin.h"

namespace paritect {

inline constexpr std::int64_t kServerLifetimeSeconds = 365 * kDaySeconds;
inline constexpr std::int64_t kAdminLifetimeSeconds = 365 * kDaySeconds;

struct InitOptions {
  std::vector<std::string> hosts;  // names and addresses that clients will use
  std::string host_name;           // this machine's ("": left out)
  std::string address;             // "HOST:PORT" for admin.credential
  std::string admin_name = "admin";
  std::int64_t now = 0;  // Unix seconds

  // Certificates of another authority, as paths; "": our own. Allowed are: an authority with its key (we go on
  // signing), with or without a server certificate; an authority without key, which needs the server's certificate and
  // key. identities goes with an authority.
  std::string authority_path;
  std::string authority_key_path;
  std::string certificate_path;
  std::string key_path;
  std::string identities_path;
};

struct InitResult {
  std::string pin;                 // "sha256:..."
  std::vector<std::string> notes;  // what the user should know: no admin.credential, no enrolment
};

// Makes the folder, or in an existing folder its files, in full or not at all: a failure, or a kill while a new folder
// is made, leaves nothing at `folder`. AlreadyExists "DIR already holds a Paritect server (FILE)"; InvalidArgument for
// options that do not go together and for files that are damaged or do not fit each other; FailedPrecondition for a
// certificate that is not valid now.
absl::StatusOr<InitResult> InitServerFolder(absl::string_view folder, const InitOptions& options);

// What a server needs to start. Immutable.
struct ServerFolder {
  Certificate authority;              // the first of ca.pem: what the pin names
  std::string authorities_pem;        // ca.pem: whom clients' certificates must come from
  std::optional<Authority> enroller;  // nullopt without ca.key
  std::string chain_pem;              // the server's certificate up to the authority, which enrolment needs
  std::string key_pem;
  std::int64_t server_not_after = 0;  // Unix seconds
  IdentityMap identities;
  std::vector<std::string> warnings;  // keys that others may read

  CaPin pin() const { return CaPin::Of(authority); }
  PeerPolicy policy() const { return {enroller.has_value(), identities.empty() ? nullptr : &identities}; }
  // FailedPrecondition: this server signs nothing, with the way out.
  absl::StatusOr<const Authority*> Enroller() const;
};

// NotFound "DIR holds no Paritect server ...: run `paritect-server init DIR`"; else the errors of InitServerFolder for
// what lies there, each with the file's path.
absl::StatusOr<ServerFolder> LoadServerFolder(absl::string_view folder, std::int64_t now);

// Where our own authority signed the server's certificate and less than a third of its life is left (or it has
// expired), replaces server.pem for the same key and hosts. True where it did: load again. The authority's dates are
// not mended.
absl::StatusOr<bool> RenewServerCertificate(absl::string_view folder, std::int64_t now);

// Makes the server's certificate anew, with the same key, for the names that it has and these. FailedPrecondition:
// another authority signed it; InvalidArgument: no name or address.
absl::Status AddServerNames(absl::string_view folder, const std::vector<std::string>& hosts, std::int64_t now);

// A new key with a certificate for `identity`, ready to be saved: what init does for the first admin and what helps
// where the last admin's credential has expired.
absl::StatusOr<Credential> IssueCredential(const Authority& authority, const Identity& identity,
                                           const std::vector<std::string>& servers, std::int64_t lifetime_seconds,
                                           std::int64_t now);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_SERVER_FOLDER_H_
