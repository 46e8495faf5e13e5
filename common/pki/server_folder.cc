#include "common/pki/server_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/host_port.h"
#include "common/pki/secret_file.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kAuthorityName = "ca.pem";
constexpr absl::string_view kAuthorityKeyName = "ca.key";
constexpr absl::string_view kCertificateName = "server.pem";
constexpr absl::string_view kKeyName = "server.key";
constexpr absl::string_view kCredentialName = "admin.credential";
constexpr absl::string_view kIdentitiesName = "identities.yaml";
constexpr absl::string_view kDatabaseName = "paritect.db";
constexpr absl::string_view kOurNames[] = {kAuthorityName,  kAuthorityKeyName, kCertificateName, kKeyName,
                                           kCredentialName, kIdentitiesName,   kDatabaseName};

constexpr absl::string_view kIdentitiesTemplate =
    R"(# Who holds the certificates that the other authority issues. The first line that matches wins.
# identities:
#   - {subject_cn: "gpu-*.example.com", role: agent}              # the name is the matched text
#   - {san: "dns:audit.example.com", role: operator, name: audit}
#   - {san: "email:jane@example.com", role: admin, name: jane}
)";

struct NamedFile {
  absl::string_view name;
  std::string bytes;
  unsigned mode = kPublicMode;
};

absl::Status AlreadyHeld(absl::string_view folder, absl::string_view name) {
  return absl::AlreadyExistsError(absl::StrCat(folder, " already holds a Paritect server (", name,
                                               "); choose another folder, or remove this one for good"));
}

absl::Status CheckFree(absl::string_view folder) {
  for (const absl::string_view name : kOurNames) {
    if (PosixFileSystem().LStat(JoinPath(folder, name)).ok()) return AlreadyHeld(folder, name);
  }
  return absl::OkStatus();
}

// A folder that is filled and then put in place; whatever is left of it at the end goes away.
class Staging {
 public:
  explicit Staging(std::string folder) : folder_(std::move(folder)) {}
  ~Staging() {
    for (const std::string& path : written_) unlink(path.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  absl::Status Fill(const std::vector<NamedFile>& files) {
    if (mkdtemp(folder_.data()) == nullptr) {
      const std::string where(DirName(folder_));
      folder_.clear();
      return ErrnoStatus(errno, "cannot make a folder in", where);
    }
    for (const NamedFile& file : files) {
      written_.push_back(JoinPath(folder_, file.name));
      PARITECT_RETURN_IF_ERROR(WriteFileDurably(written_.back(), file.bytes, file.mode));
    }
    return absl::OkStatus();
  }

  // The folder itself becomes `target`, which is not there yet.
  absl::Status BecomeFolder(const std::string& target) {
    if (rename(folder_.c_str(), target.c_str()) != 0) {
      if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return AlreadyHeld(target, "made meanwhile");
      return ErrnoStatus(errno, "cannot make", target);
    }
    written_.clear();
    folder_.clear();
    SyncFolder(DirName(target));
    return absl::OkStatus();
  }

  // Moves the files into `target`; back out again where one fails.
  absl::Status MoveInto(const std::string& target, const std::vector<NamedFile>& files) {
    std::vector<std::string> moved;
    for (const NamedFile& file : files) {
      const std::string to = JoinPath(target, file.name);
      // A link and not a rename: it never replaces what another init has put there meanwhile.
      if (link(JoinPath(folder_, file.name).c_str(), to.c_str()) == 0) {
        moved.push_back(to);
        continue;
      }
      const int error = errno;
      for (const std::string& path : moved) unlink(path.c_str());
      return error == EEXIST ? AlreadyHeld(target, file.name) : ErrnoStatus(error, "cannot write", to);
    }
    return absl::OkStatus();
  }

 private:
  std::string folder_;
  std::vector<std::string> written_;
};

absl::Status PutInPlace(const std::string& folder, const std::vector<NamedFile>& files) {
  const auto there = PosixFileSystem().Stat(folder);
  if (there.ok() && there->type != FileInfo::Type::kDirectory) {
    return absl::InvalidArgumentError(absl::StrCat(folder, " is not a folder"));
  }
  if (there.ok()) {
    PARITECT_RETURN_IF_ERROR(CheckFree(folder));
    Staging staging(JoinPath(folder, ".init-XXXXXX"));
    PARITECT_RETURN_IF_ERROR(staging.Fill(files));
    return staging.MoveInto(folder, files);
  }
  Staging staging(absl::StrCat(folder, ".init-XXXXXX"));
  PARITECT_RETURN_IF_ERROR(staging.Fill(files));
  return staging.BecomeFolder(folder);
}

absl::StatusOr<std::string> ReadPart(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(SecretFile file, ReadSecretFile(path));
  return std::move(file.bytes);
}

// What is signed and what is brought, before it is written.
struct Material {
  std::string authorities_pem;
  std::optional<Authority> enroller;
  std::string certificate_pem;
  std::string key_pem;
  std::string identities;
  bool foreign = false;
};

absl::Status CheckOptions(const InitOptions& options) {
  const bool certificate = !options.certificate_path.empty();
  const bool authority = !options.authority_path.empty();
  if (certificate != !options.key_path.empty()) {
    return absl::InvalidArgumentError("the server's certificate and its key go together: give both or neither");
  }
  if (!authority && (certificate || !options.authority_key_path.empty() || !options.identities_path.empty())) {
    return absl::InvalidArgumentError(
        "an authority's key, a server certificate and an identity table need the authority's certificate too");
  }
  if (authority && !certificate && options.authority_key_path.empty()) {
    return absl::InvalidArgumentError(
        "an authority without its key cannot sign for the server: give its key, or a server certificate with its key");
  }
  for (const std::string& host : options.hosts) PARITECT_RETURN_IF_ERROR(CheckHost(host));
  PARITECT_RETURN_IF_ERROR(ParseHostPort(options.address).status());
  return CheckName(options.admin_name);
}

// The server's certificate must be what a node will accept: fit its key and lead to the authority.
absl::Status CheckServerCertificate(absl::string_view certificate_pem, absl::string_view key_pem,
                                    const Certificate& authority, absl::string_view authorities_pem, std::int64_t now) {
  auto chain = Certificate::ListFromPem(certificate_pem);
  if (!chain.ok()) return Annotate(chain.status(), "the server's certificate");
  const auto key = KeyPair::FromPem(key_pem);
  if (!key.ok()) return Annotate(key.status(), "the server's key");
  if (!chain->front().Fits(*key)) {
    return absl::InvalidArgumentError("the server's key does not belong to its certificate");
  }
  PARITECT_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities, Certificate::ListFromPem(authorities_pem));
  chain->insert(chain->end(), authorities.begin(), authorities.end());
  const ChainQuery query = {ChainQuery::Purpose::kServer, now, ""};
  return Annotate(VerifyChain(*chain, authority, query), "the server's certificate");
}

absl::Status ReadAuthority(const InitOptions& options, Material& material) {
  PARITECT_ASSIGN_OR_RETURN(const std::string pem, ReadPart(options.authority_path));
  const auto list = Certificate::ListFromPem(pem);
  if (!list.ok()) return Annotate(list.status(), options.authority_path);
  if (!list->front().IsAuthority()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.authority_path, ": ", list->front().Subject(), " is not an authority"));
  }
  material.authorities_pem = ToPem(*list);
  material.foreign = true;
  if (!options.identities_path.empty()) {
    PARITECT_ASSIGN_OR_RETURN(material.identities, ReadPart(options.identities_path));
    PARITECT_RETURN_IF_ERROR(Annotate(IdentityMap::Parse(material.identities).status(), options.identities_path));
  }
  if (options.authority_key_path.empty()) return absl::OkStatus();
  PARITECT_ASSIGN_OR_RETURN(const std::string key_pem, ReadPart(options.authority_key_path));
  PARITECT_ASSIGN_OR_RETURN(material.enroller, Authority::FromPem(pem, key_pem, options.now));
  return absl::OkStatus();
}

absl::Status MakeServerCertificate(const InitOptions& options, Material& material) {
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::Generate());
  PARITECT_ASSIGN_OR_RETURN(const std::string wish, CertificateRequest::Make(key, "server"));
  PARITECT_ASSIGN_OR_RETURN(const CertificateRequest request, CertificateRequest::FromPem(wish));
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate,
                            material.enroller->SignServer(request, ServerHosts(options.hosts, options.host_name),
                                                          kServerLifetimeSeconds, options.now));
  material.certificate_pem = certificate.ToPem();
  PARITECT_ASSIGN_OR_RETURN(material.key_pem, key.ToPem());
  return absl::OkStatus();
}

absl::StatusOr<Material> Gather(const InitOptions& options) {
  Material material;
  if (options.authority_path.empty()) {
    PARITECT_ASSIGN_OR_RETURN(material.enroller, Authority::Create(options.now));
    material.authorities_pem = material.enroller->certificate().ToPem();
  } else {
    PARITECT_RETURN_IF_ERROR(ReadAuthority(options, material));
  }
  if (options.certificate_path.empty()) {
    PARITECT_RETURN_IF_ERROR(MakeServerCertificate(options, material));
  } else {
    PARITECT_ASSIGN_OR_RETURN(material.certificate_pem, ReadPart(options.certificate_path));
    PARITECT_ASSIGN_OR_RETURN(material.key_pem, ReadPart(options.key_path));
  }
  PARITECT_ASSIGN_OR_RETURN(const Certificate authority, Certificate::FromPem(material.authorities_pem));
  PARITECT_RETURN_IF_ERROR(CheckServerCertificate(material.certificate_pem, material.key_pem, authority,
                                                  material.authorities_pem, options.now));
  return material;
}

absl::StatusOr<std::vector<NamedFile>> FilesOf(const Material& material, const InitOptions& options) {
  std::vector<NamedFile> files = {{kAuthorityName, material.authorities_pem},
                                  {kCertificateName, material.certificate_pem},
                                  {kKeyName, material.key_pem, kSecretMode}};
  if (material.enroller) {
    PARITECT_ASSIGN_OR_RETURN(const std::string key_pem, material.enroller->key().ToPem());
    files.push_back({kAuthorityKeyName, key_pem, kSecretMode});
    const Identity admin = {Role::kAdmin, options.admin_name};
    PARITECT_ASSIGN_OR_RETURN(const Credential credential, IssueCredential(*material.enroller, admin, {options.address},
                                                                           kAdminLifetimeSeconds, options.now));
    PARITECT_ASSIGN_OR_RETURN(const std::string text, FormatCredential(credential));
    files.push_back({kCredentialName, text, kSecretMode});
  }
  if (material.foreign) {
    files.push_back(
        {kIdentitiesName, material.identities.empty() ? std::string(kIdentitiesTemplate) : material.identities});
  }
  return files;
}

// The chain that a node must see: up to the pinned authority, nothing twice.
std::string ShownChain(const std::vector<Certificate>& own, const std::vector<Certificate>& authorities) {
  std::vector<Certificate> chain = own;
  for (const Certificate& authority : authorities) {
    bool there = false;
    for (const Certificate& certificate : own) there = there || certificate.ToDer() == authority.ToDer();
    if (!there) chain.push_back(authority);
  }
  return ToPem(chain);
}

absl::Status LoadEnroller(absl::string_view folder, std::int64_t now, ServerFolder& loaded) {
  const std::string path = JoinPath(folder, kAuthorityKeyName);
  const auto file = ReadSecretFile(path);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  PARITECT_RETURN_IF_ERROR(file.status());
  if (!file->warning.empty()) loaded.warnings.push_back(file->warning);
  auto authority = Authority::FromPem(loaded.authorities_pem, file->bytes, now);
  if (!authority.ok()) return Annotate(authority.status(), path);
  loaded.enroller = *std::move(authority);
  return absl::OkStatus();
}

absl::StatusOr<IdentityMap> LoadIdentities(absl::string_view folder) {
  const std::string path = JoinPath(folder, kIdentitiesName);
  const auto text = ReadPart(path);
  if (absl::IsNotFound(text.status())) return IdentityMap();
  PARITECT_RETURN_IF_ERROR(text.status());
  auto map = IdentityMap::Parse(*text);
  if (!map.ok()) return Annotate(map.status(), path);
  return map;
}

}  // namespace

absl::StatusOr<InitResult> InitServerFolder(absl::string_view folder, const InitOptions& options) {
  std::string target(folder);
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  if (target.empty()) return absl::InvalidArgumentError("no folder given");
  PARITECT_RETURN_IF_ERROR(CheckOptions(options));
  PARITECT_RETURN_IF_ERROR(CheckFree(target));
  PARITECT_ASSIGN_OR_RETURN(const Material material, Gather(options));
  PARITECT_ASSIGN_OR_RETURN(const std::vector<NamedFile> files, FilesOf(material, options));
  PARITECT_RETURN_IF_ERROR(PutInPlace(target, files));
  InitResult result;
  PARITECT_ASSIGN_OR_RETURN(const Certificate authority, Certificate::FromPem(material.authorities_pem));
  result.pin = CaPin::Of(authority).ToString();
  if (!material.enroller) {
    result.notes.push_back(
        "without the authority's key there is no admin.credential, and join tokens do not work: issue certificates "
        "with your authority");
  }
  if (material.foreign && material.identities.empty()) {
    result.notes.push_back(absl::StrCat("say in ", JoinPath(target, kIdentitiesName), " who holds which certificate"));
  }
  return result;
}

absl::StatusOr<const Authority*> ServerFolder::Enroller() const {
  if (enroller) return &*enroller;
  return absl::FailedPreconditionError(
      "this server holds no authority key (ca.key) and cannot sign: join tokens are off; get a certificate from your "
      "authority and have it named in identities.yaml");
}

absl::StatusOr<ServerFolder> LoadServerFolder(absl::string_view folder, std::int64_t now) {
  const std::string authority_path = JoinPath(folder, kAuthorityName);
  const auto authorities_pem = ReadPart(authority_path);
  if (absl::IsNotFound(authorities_pem.status())) {
    return absl::NotFoundError(absl::StrCat(folder, " holds no Paritect server (no ", kAuthorityName,
                                            "): run `paritect-server init ", folder, "`"));
  }
  PARITECT_RETURN_IF_ERROR(authorities_pem.status());
  const auto authorities = Certificate::ListFromPem(*authorities_pem);
  if (!authorities.ok()) return Annotate(authorities.status(), authority_path);
  ServerFolder loaded = {.authority = authorities->front(), .authorities_pem = *authorities_pem};
  PARITECT_RETURN_IF_ERROR(LoadEnroller(folder, now, loaded));
  PARITECT_ASSIGN_OR_RETURN(const std::string certificate_pem, ReadPart(JoinPath(folder, kCertificateName)));
  PARITECT_ASSIGN_OR_RETURN(SecretFile key, ReadSecretFile(JoinPath(folder, kKeyName)));
  if (!key.warning.empty()) loaded.warnings.push_back(key.warning);
  loaded.key_pem = std::move(key.bytes);
  PARITECT_RETURN_IF_ERROR(Annotate(
      CheckServerCertificate(certificate_pem, loaded.key_pem, loaded.authority, loaded.authorities_pem, now), folder));
  PARITECT_ASSIGN_OR_RETURN(const std::vector<Certificate> own, Certificate::ListFromPem(certificate_pem));
  loaded.chain_pem = ShownChain(own, *authorities);
  loaded.server_not_after = own.front().NotAfter();
  PARITECT_ASSIGN_OR_RETURN(loaded.identities, LoadIdentities(folder));
  return loaded;
}

namespace {

struct OwnCertificate {
  Authority authority;
  Certificate present;
  std::vector<std::string> hosts;  // that it is for
};

// nullopt: we do not sign this server's certificate.
absl::StatusOr<std::optional<OwnCertificate>> ReadOwnCertificate(absl::string_view folder, std::int64_t now) {
  const auto authority_key = ReadPart(JoinPath(folder, kAuthorityKeyName));
  if (absl::IsNotFound(authority_key.status())) return std::nullopt;
  PARITECT_RETURN_IF_ERROR(authority_key.status());
  PARITECT_ASSIGN_OR_RETURN(const std::string authority_pem, ReadPart(JoinPath(folder, kAuthorityName)));
  PARITECT_ASSIGN_OR_RETURN(Authority authority, Authority::FromPem(authority_pem, *authority_key, now));
  PARITECT_ASSIGN_OR_RETURN(const std::string present_pem, ReadPart(JoinPath(folder, kCertificateName)));
  PARITECT_ASSIGN_OR_RETURN(Certificate present, Certificate::FromPem(present_pem));
  if (!present.IsSignedBy(authority.certificate())) return std::nullopt;
  AlternativeNames names = present.Names();
  std::vector<std::string> hosts = std::move(names.dns);
  hosts.insert(hosts.end(), names.ip.begin(), names.ip.end());
  return OwnCertificate{std::move(authority), std::move(present), std::move(hosts)};
}

absl::Status SignAnew(absl::string_view folder, const OwnCertificate& own, std::int64_t now) {
  PARITECT_ASSIGN_OR_RETURN(const std::string key_pem, ReadPart(JoinPath(folder, kKeyName)));
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::FromPem(key_pem));
  PARITECT_ASSIGN_OR_RETURN(const std::string wish, CertificateRequest::Make(key, "server"));
  PARITECT_ASSIGN_OR_RETURN(const CertificateRequest request, CertificateRequest::FromPem(wish));
  PARITECT_ASSIGN_OR_RETURN(const Certificate signed_anew,
                            own.authority.SignServer(request, own.hosts, kServerLifetimeSeconds, now));
  return WriteFileDurably(JoinPath(folder, kCertificateName), signed_anew.ToPem(), kPublicMode);
}

}  // namespace

absl::StatusOr<bool> RenewServerCertificate(absl::string_view folder, std::int64_t now) {
  PARITECT_ASSIGN_OR_RETURN(const auto own, ReadOwnCertificate(folder, now));
  if (!own) return false;
  const std::int64_t life = own->present.NotAfter() - own->present.NotBefore();
  if (own->present.NotAfter() - now > life / 3) return false;
  PARITECT_RETURN_IF_ERROR(SignAnew(folder, *own, now));
  return true;
}

absl::Status AddServerNames(absl::string_view folder, const std::vector<std::string>& hosts, std::int64_t now) {
  PARITECT_ASSIGN_OR_RETURN(auto own, ReadOwnCertificate(folder, now));
  if (!own) {
    return absl::FailedPreconditionError(
        "this server's certificate is another authority's: ask it for one that is for these names too");
  }
  for (const std::string& host : hosts) {
    if (std::find(own->hosts.begin(), own->hosts.end(), host) == own->hosts.end()) own->hosts.push_back(host);
  }
  return SignAnew(folder, *own, now);
}

absl::StatusOr<Credential> IssueCredential(const Authority& authority, const Identity& identity,
                                           const std::vector<std::string>& servers, std::int64_t lifetime_seconds,
                                           std::int64_t now) {
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::Generate());
  PARITECT_ASSIGN_OR_RETURN(const std::string wish, CertificateRequest::Make(key, identity.name));
  PARITECT_ASSIGN_OR_RETURN(const CertificateRequest request, CertificateRequest::FromPem(wish));
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate,
                            authority.SignClient(request, identity, lifetime_seconds, now));
  PARITECT_ASSIGN_OR_RETURN(std::string key_pem, key.ToPem());
  return Credential{identity, servers, authority.certificate().ToPem(), certificate.ToPem(), std::move(key_pem)};
}

}  // namespace paritect
