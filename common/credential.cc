#include "common/credential.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/document.h"
#include "common/file_system.h"
#include "common/host_port.h"
#include "common/pki/certificate.h"
#include "common/pki/key_pair.h"
#include "common/pki/peer.h"
#include "common/pki/pin.h"
#include "common/pki/secret_file.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kVersion = "1";
constexpr std::size_t kServersMax = 64;
constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr absl::string_view kHeader =
    "# Paritect credential. It holds a private key: keep its mode at 0600 and give it to nobody.\n";

void AppendBlock(std::string& text, absl::string_view key, absl::string_view pem) {
  absl::StrAppend(&text, key, ": |\n");
  for (const absl::string_view line : absl::StrSplit(pem, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
}

absl::Status CheckServers(const std::vector<std::string>& servers) {
  if (servers.empty()) return absl::InvalidArgumentError("no `servers`");
  if (servers.size() > kServersMax)
    return absl::InvalidArgumentError(absl::StrCat("more than ", kServersMax, " servers"));
  for (const std::string& server : servers) PARITECT_RETURN_IF_ERROR(ParseHostPort(server).status());
  return absl::OkStatus();
}

// The certificate that the three parts agree on.
absl::StatusOr<Certificate> CheckParts(const Credential& credential) {
  PARITECT_RETURN_IF_ERROR(CheckServers(credential.servers));
  PARITECT_RETURN_IF_ERROR(CheckName(credential.identity.name));
  PARITECT_RETURN_IF_ERROR(Annotate(Certificate::ListFromPem(credential.authority_pem).status(), "`authority`"));
  const auto certificate = Certificate::FromPem(credential.certificate_pem);
  if (!certificate.ok()) return Annotate(certificate.status(), "`certificate`");
  const auto key = KeyPair::FromPem(credential.key_pem);
  if (!key.ok()) return Annotate(key.status(), "`key`");
  if (!certificate->Fits(*key)) return absl::InvalidArgumentError("the key does not fit the certificate");
  // No stamp at all: a certificate of another authority, which the server's own table names.
  const auto stamped = StampedIdentity(*certificate);
  if (stamped.ok() && *stamped != credential.identity) {
    return absl::InvalidArgumentError(absl::StrCat("the certificate is that of ", DescribeIdentity(*stamped),
                                                   ", the file says ", DescribeIdentity(credential.identity)));
  }
  return certificate;
}

// Reads the document's fields one by one.
class Reader {
 public:
  Reader(const DocumentNode& root, CredentialFileReader read_file) : root_(root), read_file_(read_file) {}

  absl::StatusOr<Credential> Read() {
    PARITECT_RETURN_IF_ERROR(CheckKeys());
    Credential credential;
    PARITECT_ASSIGN_OR_RETURN(const std::string role, Text("role"));
    const auto known = ParseRole(role);
    if (!known) return ErrorAt(*root_.Find("role"), "the role must be agent, viewer, operator or admin");
    credential.identity.role = *known;
    PARITECT_ASSIGN_OR_RETURN(credential.identity.name, Text("name"));
    PARITECT_ASSIGN_OR_RETURN(credential.servers, Servers());
    PARITECT_ASSIGN_OR_RETURN(credential.authority_pem, Pem("authority"));
    PARITECT_ASSIGN_OR_RETURN(credential.certificate_pem, Pem("certificate"));
    PARITECT_ASSIGN_OR_RETURN(credential.key_pem, Pem("key"));
    return credential;
  }

 private:
  absl::Status CheckKeys() {
    static constexpr absl::string_view kKeys[] = {
        "paritect_credential", "role", "name",    "servers", "authority", "authority_file", "certificate",
        "certificate_file",    "key",  "key_file"};
    if (!root_.is_map() || root_.Find("paritect_credential") == nullptr) {
      return absl::InvalidArgumentError("this is not a credential file (no `paritect_credential`)");
    }
    const DocumentNode& version = *root_.Find("paritect_credential");
    if (version.text != kVersion) {
      return ErrorAt(version, "a credential of another version; this program reads version 1");
    }
    for (const auto& [key, value] : root_.fields) {
      if (std::find(std::begin(kKeys), std::end(kKeys), key.text) != std::end(kKeys)) continue;
      return ErrorAt(key, absl::StrCat("unknown key `", DisplayBytes(key.text.substr(0, 60)), "`"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Text(absl::string_view key) {
    const DocumentNode* node = root_.Find(key);
    if (node == nullptr) return absl::InvalidArgumentError(absl::StrCat("no `", key, "`"));
    if (!node->is_scalar() || node->text.empty()) return ErrorAt(*node, absl::StrCat("`", key, "` must be a text"));
    return node->text;
  }

  absl::StatusOr<std::vector<std::string>> Servers() {
    const DocumentNode* node = root_.Find("servers");
    if (node == nullptr) return absl::InvalidArgumentError("no `servers`");
    if (!node->is_list()) return ErrorAt(*node, "`servers` must be a list of HOST:PORT");
    std::vector<std::string> servers;
    for (const DocumentNode& item : node->items) {
      if (!item.is_scalar()) return ErrorAt(item, "a server must be a text HOST:PORT");
      servers.push_back(item.text);
    }
    return servers;
  }

  absl::StatusOr<std::string> Pem(absl::string_view key) {
    const std::string file_key = absl::StrCat(key, "_file");
    const DocumentNode* file = root_.Find(file_key);
    if (file == nullptr) return Text(key);
    if (root_.Find(key) != nullptr)
      return ErrorAt(*file, absl::StrCat("`", key, "` and `", file_key, "` exclude each other"));
    PARITECT_ASSIGN_OR_RETURN(const std::string name, Text(file_key));
    auto text = read_file_(name);
    if (!text.ok()) return Annotate(text.status(), absl::StrCat("`", file_key, "`"));
    return text;
  }

  const DocumentNode& root_;
  CredentialFileReader read_file_;
};

absl::Status DatesStatus(const Credential& credential, const Certificate& certificate, std::int64_t now) {
  const std::string who = DescribeIdentity(credential.identity);
  if (now > certificate.NotAfter()) {
    const absl::string_view remedy =
        credential.identity.role == Role::kAgent
            ? "join again: let an admin make a token (`paritect token create --role agent`) and run "
              "`paritect-agent join`"
            : "ask an admin of the server for a new credential";
    return absl::FailedPreconditionError(absl::StrCat("the certificate of ", who, " expired on ",
                                                      FormatUtc(certificate.NotAfter()), " (this machine's clock says ",
                                                      FormatUtc(now), "); ", remedy));
  }
  if (now < certificate.NotBefore()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate of ", who, " is valid only from ", FormatUtc(certificate.NotBefore()),
                     "; this machine's clock says ", FormatUtc(now), ": set the clock"));
  }
  return absl::OkStatus();
}

// Not an error: the server may know more authorities than the file.
std::optional<std::string> AuthorityWarning(const Credential& credential, std::int64_t now) {
  const auto chain = Certificate::ListFromPem(credential.certificate_pem);
  const auto anchors = Certificate::ListFromPem(credential.authority_pem);
  if (!chain.ok() || !anchors.ok()) return std::nullopt;
  const ChainQuery query = {ChainQuery::Purpose::kClient, now, ""};
  absl::Status status;
  for (const Certificate& anchor : *anchors) {
    status = VerifyChain(*chain, anchor, query);
    if (status.ok()) return std::nullopt;
  }
  return absl::StrCat("the server may refuse this credential: ", status.message());
}

}  // namespace

absl::StatusOr<std::string> FormatCredential(const Credential& credential) {
  PARITECT_RETURN_IF_ERROR(CheckParts(credential).status());
  // Written anew: text around the blocks, tabs or CRLF would not survive in the document.
  PARITECT_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                            Certificate::ListFromPem(credential.authority_pem));
  PARITECT_ASSIGN_OR_RETURN(const std::vector<Certificate> chain, Certificate::ListFromPem(credential.certificate_pem));
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::FromPem(credential.key_pem));
  PARITECT_ASSIGN_OR_RETURN(const std::string key_pem, key.ToPem());
  std::string text =
      absl::StrCat(kHeader, "paritect_credential: ", kVersion, "\nrole: ", RoleName(credential.identity.role),
                   "\nname: \"", credential.identity.name, "\"\nservers:\n");
  for (const std::string& server : credential.servers) absl::StrAppend(&text, "  - \"", server, "\"\n");
  AppendBlock(text, "authority", ToPem(authorities));
  AppendBlock(text, "certificate", ToPem(chain));
  AppendBlock(text, "key", key_pem);
  return text;
}

absl::StatusOr<Credential> ParseCredential(absl::string_view text, CredentialFileReader read_file) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root,
                            ParseYaml(text, {.bytes_max = kFileBytesMax, .nodes_max = 1000, .depth_max = 8}));
  PARITECT_ASSIGN_OR_RETURN(Credential credential, Reader(root, read_file).Read());
  PARITECT_RETURN_IF_ERROR(CheckParts(credential).status());
  return credential;
}

absl::StatusOr<Credential> ParseCredential(absl::string_view text) {
  return ParseCredential(text, [](absl::string_view) -> absl::StatusOr<std::string> {
    return absl::InvalidArgumentError("not allowed here");
  });
}

absl::StatusOr<LoadedCredential> LoadCredential(absl::string_view path, std::int64_t now) {
  PARITECT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, kFileBytesMax));
  LoadedCredential loaded;
  if (!file.warning.empty()) loaded.warnings.push_back(file.warning);
  const auto read_file = [&](absl::string_view name) -> absl::StatusOr<std::string> {
    PARITECT_ASSIGN_OR_RETURN(SecretFile part, ReadSecretFile(JoinPath(DirName(path), name), kFileBytesMax));
    // A certificate may be read by everybody.
    const bool is_secret = absl::StrContains(part.bytes, "PRIVATE KEY");
    if (is_secret && !part.warning.empty()) loaded.warnings.push_back(part.warning);
    return std::move(part.bytes);
  };
  auto credential = ParseCredential(file.bytes, read_file);
  if (!credential.ok()) return Annotate(credential.status(), path);
  loaded.credential = *std::move(credential);
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate, Certificate::FromPem(loaded.credential.certificate_pem));
  loaded.not_before = certificate.NotBefore();
  loaded.not_after = certificate.NotAfter();
  PARITECT_RETURN_IF_ERROR(Annotate(DatesStatus(loaded.credential, certificate, now), path));
  if (auto warning = AuthorityWarning(loaded.credential, now)) loaded.warnings.push_back(*std::move(warning));
  return loaded;
}

absl::Status SaveCredential(absl::string_view path, const Credential& credential) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, FormatCredential(credential));
  return WriteFileDurably(path, text, kSecretMode);
}

std::int64_t RenewalTime(std::int64_t not_before, std::int64_t not_after, double jitter) {
  const double life = static_cast<double>(not_after - not_before);
  return not_before + static_cast<std::int64_t>(life * (0.5 + 0.1 * std::clamp(jitter, -1.0, 1.0)));
}

}  // namespace paritect
