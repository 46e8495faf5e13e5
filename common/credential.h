// A credential file: all that a client, agent or person needs to talk to a server, in one YAML file of mode 0600.
//
//   paritect_credential: 1
//   role: agent
//   name: gpu-01
//   servers: ["audit.example.com:7400"]
//   authority: |            # the server's authority (or authorities, while one replaces another)
//     -----BEGIN CERTIFICATE-----
//   certificate: |          # the holder's, followed by its intermediates if any
//   key: |                  # PKCS#8
//
// With certificates of another authority, which other tools renew, authority_file, certificate_file and key_file may
// name files instead, relative to the credential's folder.
#ifndef PARITECT_COMMON_CREDENTIAL_H_
#define PARITECT_COMMON_CREDENTIAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/pki/identity.h"

namespace paritect {

struct Credential {
  Identity identity;
  std::vector<std::string> servers;  // "HOST:PORT", at least one
  std::string authority_pem;
  std::string certificate_pem;
  std::string key_pem;
};

// The file's text. InvalidArgument where a part is missing or damaged.
absl::StatusOr<std::string> FormatCredential(const Credential& credential);

// Reads a file that a *_file key names; the name is as written.
using CredentialFileReader = absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view name)>;

// InvalidArgument: "LINE:COLUMN: message" for the document; what is missing or damaged; a key that does not fit its
// certificate; role or name that contradict the certificate's stamp. Dates are not looked at.
absl::StatusOr<Credential> ParseCredential(absl::string_view text, CredentialFileReader read_file);
absl::StatusOr<Credential> ParseCredential(absl::string_view text);  // refuses *_file keys

struct LoadedCredential {
  Credential credential;
  std::int64_t not_before = 0;  // of the certificate; Unix seconds
  std::int64_t not_after = 0;
  std::vector<std::string> warnings;  // for the user: others may read the file, another authority signed it
};

// ParseCredential's errors as "PATH: message"; NotFound, PermissionDenied. FailedPrecondition: the certificate has
// expired or is not yet valid at `now` (Unix seconds): since when, and what to do.
absl::StatusOr<LoadedCredential> LoadCredential(absl::string_view path, std::int64_t now);

// Mode 0600, in full or not at all.
absl::Status SaveCredential(absl::string_view path, const Credential& credential);

// When to renew a certificate: half of its life after not_before, moved by up to a tenth of the life either way.
// `jitter` lies in [-1, 1]; a fleet that joined together must not renew together.
std::int64_t RenewalTime(std::int64_t not_before, std::int64_t not_after, double jitter);

}  // namespace paritect

#endif  // PARITECT_COMMON_CREDENTIAL_H_
