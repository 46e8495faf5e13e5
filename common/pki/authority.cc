#include "common/pki/authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/host_port.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using openssl::UniqueX509;

constexpr int kSerialBits = 128;
constexpr std::size_t kHostsMax = 64;

struct Extension {
  int nid;
  std::string value;  // in OpenSSL's configuration syntax; no outside text may hold ',' or a line end
};

struct Template {
  std::string common_name;
  std::int64_t not_before = 0;
  std::int64_t not_after = 0;
  std::vector<Extension> extensions;
};

bool IsLabel(absl::string_view label) {
  if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; });
}

bool IsHostName(absl::string_view host) {
  if (host.empty() || host.size() > kNameBytesMax) return false;
  std::vector<absl::string_view> labels = absl::StrSplit(host, '.');
  // OpenSSL, with which clients check, matches no wildcard right below a top domain.
  if (labels.size() > 2 && labels.front() == "*") labels.erase(labels.begin());
  return std::all_of(labels.begin(), labels.end(), IsLabel);
}

bool SetSerial(X509* certificate) {
  const openssl::UniqueBignum number(BN_new());
  return number != nullptr && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         !BN_is_zero(number.get()) && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetTimes(X509* certificate, const Template& wanted) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), static_cast<std::time_t>(wanted.not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), static_cast<std::time_t>(wanted.not_after)) != nullptr;
}

bool SetCommonName(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

bool AddExtensions(X509* certificate, X509* issuer, const std::vector<Extension>& extensions) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  for (const Extension& extension : extensions) {
    const openssl::UniqueExtension made(X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value.c_str()));
    if (made == nullptr || X509_add_ext(certificate, made.get(), -1) != 1) return false;
  }
  return true;
}

// `issuer` is nullptr for a self-signed certificate.
absl::StatusOr<Certificate> Sign(const Template& wanted, EVP_PKEY* subject_key, const Certificate* issuer,
                                 EVP_PKEY* signing_key) {
  const UniqueX509 made(X509_new());
  if (made == nullptr) return openssl::Failure("cannot make a certificate");
  X509* const certificate = made.get();
  X509* const issued_by = issuer == nullptr ? certificate : issuer->get();
  if (X509_set_version(certificate, X509_VERSION_3) != 1 || !SetSerial(certificate) || !SetTimes(certificate, wanted) ||
      !SetCommonName(certificate, wanted.common_name) ||
      X509_set_issuer_name(certificate, X509_get_subject_name(issued_by)) != 1 ||
      X509_set_pubkey(certificate, subject_key) != 1 || !AddExtensions(certificate, issued_by, wanted.extensions) ||
      X509_sign(certificate, signing_key, openssl::SigningDigest(signing_key)) <= 0) {
    return openssl::Failure("cannot sign a certificate");
  }
  return Certificate::Share(certificate);
}

// A bought authority may lack the subject key identifier, and then there is nothing to point to.
std::vector<Extension> LeafExtensions(const Certificate& issuer, absl::string_view purpose,
                                      absl::string_view alternative_names) {
  std::vector<Extension> extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                       {NID_key_usage, "critical,digitalSignature"},
                                       {NID_ext_key_usage, std::string(purpose)},
                                       {NID_subject_alt_name, std::string(alternative_names)},
                                       {NID_subject_key_identifier, "hash"}};
  if (X509_get0_subject_key_id(issuer.get()) != nullptr) {
    extensions.push_back({NID_authority_key_identifier, "keyid:always"});
  }
  return extensions;
}

absl::Status CheckLifetime(std::int64_t lifetime_seconds) {
  if (lifetime_seconds >= kLifetimeSecondsMin && lifetime_seconds <= kAuthorityLifetimeSeconds) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("a certificate's lifetime of ", lifetime_seconds,
                                                 " s: it must lie between ", kLifetimeSecondsMin, " s and ten years"));
}

absl::Status CheckValidAt(const Certificate& authority, std::int64_t now) {
  if (now > authority.NotAfter()) {
    return absl::FailedPreconditionError(absl::StrCat("the authority ", authority.Subject(), " expired on ",
                                                      FormatUtc(authority.NotAfter()),
                                                      "; make a new one and let the nodes join again"));
  }
  if (now < authority.NotBefore()) {
    return absl::FailedPreconditionError(absl::StrCat("the authority ", authority.Subject(), " is valid only from ",
                                                      FormatUtc(authority.NotBefore()), "; this machine's clock says ",
                                                      FormatUtc(now)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHost(absl::string_view host) {
  if (IsIpAddress(std::string(host)) || IsHostName(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", DisplayBytes(host.substr(0, 60)), "' is neither a host name nor an IP address"));
}

std::vector<std::string> ServerHosts(absl::Span<const std::string> hosts, absl::string_view host_name) {
  std::vector<std::string> all;
  const auto add = [&all](absl::string_view host) {
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (std::find(all.begin(), all.end(), host) == all.end()) all.emplace_back(host);
  };
  for (const std::string& host : hosts) add(host);
  add("localhost");
  if (CheckHost(host_name).ok()) add(host_name);
  add("127.0.0.1");
  add("::1");
  return all;
}

absl::StatusOr<Authority> Authority::Create(std::int64_t now) {
  PARITECT_ASSIGN_OR_RETURN(KeyPair key, KeyPair::Generate());
  unsigned char random[8];
  if (RAND_bytes(random, sizeof(random)) != 1) return openssl::Failure("no randomness");
  const absl::string_view bytes(reinterpret_cast<const char*>(random), sizeof(random));
  const Template wanted = {absl::StrCat("Paritect CA ", ToHex(bytes)),
                           now - kServerSkewSeconds,
                           now + kAuthorityLifetimeSeconds,
                           {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                            {NID_key_usage, "critical,keyCertSign,cRLSign"},
                            {NID_subject_key_identifier, "hash"}}};
  PARITECT_ASSIGN_OR_RETURN(Certificate certificate, Sign(wanted, key.get(), nullptr, key.get()));
  return Authority(std::move(certificate), std::move(key));
}

absl::StatusOr<Authority> Authority::FromPem(absl::string_view certificate_pem, absl::string_view key_pem,
                                             std::int64_t now) {
  auto certificate = Certificate::FromPem(certificate_pem);
  if (!certificate.ok()) return Annotate(certificate.status(), "the authority's certificate");
  auto key = KeyPair::FromPem(key_pem);
  if (!key.ok()) return Annotate(key.status(), "the authority's key");
  if (!certificate->Fits(*key)) {
    return absl::InvalidArgumentError("the authority's key does not belong to its certificate");
  }
  if (!certificate->IsAuthority()) {
    return absl::InvalidArgumentError(absl::StrCat("the certificate ", certificate->Subject(),
                                                   " is not an authority: it may not sign others (needs CA:TRUE)"));
  }
  PARITECT_RETURN_IF_ERROR(CheckValidAt(*certificate, now));
  return Authority(*std::move(certificate), *std::move(key));
}

absl::StatusOr<Certificate> Authority::SignClient(const CertificateRequest& request, const Identity& identity,
                                                  std::int64_t lifetime_seconds, std::int64_t now) const {
  PARITECT_RETURN_IF_ERROR(CheckName(identity.name));
  PARITECT_RETURN_IF_ERROR(CheckLifetime(lifetime_seconds));
  PARITECT_RETURN_IF_ERROR(CheckValidAt(certificate_, now));
  const Template wanted = {CommonNameOf(identity.name), now - kClientSkewSeconds,
                           std::min(now + lifetime_seconds, certificate_.NotAfter()),
                           LeafExtensions(certificate_, "clientAuth", absl::StrCat("URI:", IdentityUri(identity)))};
  return Sign(wanted, X509_REQ_get0_pubkey(request.get()), &certificate_, key_.get());
}

absl::StatusOr<Certificate> Authority::SignServer(const CertificateRequest& request,
                                                  absl::Span<const std::string> hosts, std::int64_t lifetime_seconds,
                                                  std::int64_t now) const {
  PARITECT_RETURN_IF_ERROR(CheckLifetime(lifetime_seconds));
  PARITECT_RETURN_IF_ERROR(CheckValidAt(certificate_, now));
  if (hosts.empty() || hosts.size() > kHostsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a server certificate for ", hosts.size(), " hosts; it needs 1 to ", kHostsMax));
  }
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    PARITECT_RETURN_IF_ERROR(CheckHost(host));
    names.push_back(absl::StrCat(IsIpAddress(host) ? "IP:" : "DNS:", host));
  }
  const std::string& first = hosts.front();
  const Template wanted = {first.size() <= 64 ? first : "paritect-server", now - kServerSkewSeconds,
                           std::min(now + lifetime_seconds, certificate_.NotAfter()),
                           LeafExtensions(certificate_, "serverAuth", absl::StrJoin(names, ","))};
  return Sign(wanted, X509_REQ_get0_pubkey(request.get()), &certificate_, key_.get());
}

}  // namespace paritect
