#include "common/pki/pin.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <arpa/inet.h>

#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/digest.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kPrefix = "sha256:";

using StackOfX509 = std::unique_ptr<STACK_OF(X509), openssl::Free<[](STACK_OF(X509) * stack) { sk_X509_free(stack); }>>;

bool SetHost(X509_VERIFY_PARAM* parameters, const std::string& host) {
  if (host.empty()) return true;
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1) return true;
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(parameters,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(parameters, host.data(), host.size()) == 1;
}

absl::Status DatesError(const Certificate& certificate, std::int64_t now) {
  if (now > certificate.NotAfter()) {
    return absl::FailedPreconditionError(absl::StrCat("the certificate ", certificate.Subject(), " expired on ",
                                                      FormatUtc(certificate.NotAfter()), " (this machine's clock says ",
                                                      FormatUtc(now), ")"));
  }
  return absl::FailedPreconditionError(absl::StrCat("the certificate ", certificate.Subject(), " is valid only from ",
                                                    FormatUtc(certificate.NotBefore()), "; this machine's clock says ",
                                                    FormatUtc(now), ": set the clock"));
}

absl::Status HostError(const Certificate& leaf, const std::string& host) {
  AlternativeNames names = leaf.Names();
  std::vector<std::string> all = std::move(names.dns);
  all.insert(all.end(), names.ip.begin(), names.ip.end());
  return absl::UnauthenticatedError(
      absl::StrCat("the server's certificate is not for ", DisplayBytes(host), " but for ",
                   all.empty() ? "no host at all" : DisplayBytes(absl::StrJoin(all, ", ")),
                   "; use one of these, or let the server have a certificate for this one"));
}

absl::Status ChainError(X509_STORE_CTX* context, const Certificate& leaf, const ChainQuery& query) {
  const int error = X509_STORE_CTX_get_error(context);
  X509* const at = X509_STORE_CTX_get_current_cert(context);
  const Certificate culprit = at == nullptr ? leaf : Certificate::Share(at);
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return DatesError(culprit, query.now);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return HostError(leaf, query.host);
    case X509_V_ERR_INVALID_PURPOSE:
      return absl::UnauthenticatedError(
          absl::StrCat("the certificate ", culprit.Subject(), " was not issued for a ",
                       query.purpose == ChainQuery::Purpose::kServer ? "server" : "client"));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return absl::UnauthenticatedError(
          absl::StrCat("the certificate ", culprit.Subject(), " is not signed by the authority"));
    default:
      return absl::UnauthenticatedError(absl::StrCat("the certificate ", culprit.Subject(),
                                                     " is not accepted: ", X509_verify_cert_error_string(error)));
  }
}

}  // namespace

CaPin CaPin::Of(const Certificate& authority) {
  return CaPin(Sha256(authority.PublicKeyDer()));
}

absl::StatusOr<CaPin> CaPin::Parse(absl::string_view text) {
  const absl::string_view pin = absl::StripAsciiWhitespace(text);
  if (absl::StartsWithIgnoreCase(pin, kPrefix)) {
    if (auto digest = FromHex(pin.substr(kPrefix.size())); digest && digest->size() == 32) return CaPin(*digest);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", DisplayBytes(pin.substr(0, 80)),
                                                 "' is not a pin: sha256: and 64 hexadecimal digits, as "
                                                 "`paritect-server init` prints it"));
}

std::string CaPin::ToString() const {
  return absl::StrCat(kPrefix, ToHex(digest_));
}

bool CaPin::Matches(const Certificate& certificate) const {
  const std::string other = Sha256(certificate.PublicKeyDer());
  return other.size() == digest_.size() && CRYPTO_memcmp(other.data(), digest_.data(), digest_.size()) == 0;
}

absl::Status VerifyChain(absl::Span<const Certificate> chain, const Certificate& anchor, const ChainQuery& query) {
  if (chain.empty()) return absl::InvalidArgumentError("no certificate to verify");
  const openssl::UniqueStore store(X509_STORE_new());
  const openssl::UniqueStoreContext context(X509_STORE_CTX_new());
  const StackOfX509 others(sk_X509_new_null());
  if (store == nullptr || context == nullptr || others == nullptr) return openssl::Failure("out of memory");
  for (const Certificate& certificate : chain.subspan(1)) sk_X509_push(others.get(), certificate.get());
  if (X509_STORE_add_cert(store.get(), anchor.get()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), others.get()) != 1) {
    return openssl::Failure("cannot verify a certificate");
  }
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  // An authority that is itself signed by another one is trusted by its own hash.
  // A pin covers the key alone: that the rest of a self-signed one was not rewritten, its own signature tells.
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_CHECK_SS_SIGNATURE);
  X509_VERIFY_PARAM_set_time(parameters, static_cast<std::time_t>(query.now));
  const bool server = query.purpose == ChainQuery::Purpose::kServer;
  X509_VERIFY_PARAM_set_purpose(parameters, server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  if (!SetHost(parameters, query.host)) return openssl::Failure("cannot check a host name");
  const int verified = X509_verify_cert(context.get());
  const absl::Status status = verified == 1 ? absl::OkStatus() : ChainError(context.get(), chain.front(), query);
  ERR_clear_error();
  return status;
}

absl::StatusOr<Certificate> VerifyPinnedChain(absl::Span<const Certificate> chain, const CaPin& pin,
                                              const ChainQuery& query) {
  if (chain.empty()) return absl::InvalidArgumentError("the server sent no certificate");
  // An authority that was renewed with its key stands there twice, and one of the two may be expired.
  absl::Status refusal;
  for (const Certificate& certificate : chain) {
    if (!pin.Matches(certificate)) continue;
    if (!certificate.IsAuthority()) {
      return absl::PermissionDeniedError(
          absl::StrCat("the pin ", pin.ToString(), " is that of ", certificate.Subject(), ", which is no authority"));
    }
    refusal = VerifyChain(chain, certificate, query);
    if (refusal.ok()) return certificate;
  }
  if (!refusal.ok()) return refusal;
  return absl::PermissionDeniedError(
      absl::StrCat("the server does not show the authority ", pin.ToString(), " but ", chain.back().Subject(), " with ",
                   CaPin::Of(chain.back()).ToString(),
                   ": the pin is mistyped or old, this is another server, or someone stands in between"));
}

}  // namespace paritect
