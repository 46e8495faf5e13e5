#include "agent/uplink/explain_failure.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

// gRPC reports every failed connection as Unavailable; what happened stands in its text or in what TLS said. The words
// are OpenSSL's. Source: RFC 8446, 6.2 (alerts); OpenSSL 3.0, ssl/ssl_err.c.
absl::Status ExplainUnavailable(const FailedCall& call) {
  const std::string all = absl::StrCat(call.message, " ", call.tls_detail);
  const std::string refused =
      absl::StrCat("refused: server ", call.server, " does not take this agent's certificate: ");
  constexpr absl::string_view kJoinAgain = "; join again (paritect-agent join)";
  if (absl::StrContains(all, "certificate verify failed")) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate of server ", call.server,
                     " is not of this agent's authority, has expired or is for another host; is it the server that "
                     "this node joined?"));
  }
  if (absl::StrContains(all, "alert certificate expired")) {
    return absl::UnauthenticatedError(absl::StrCat(refused, "expired", kJoinAgain));
  }
  if (absl::StrContains(all, "alert certificate revoked")) {
    return absl::PermissionDeniedError(absl::StrCat(refused, "revoked"));
  }
  if (absl::StrContains(all, "alert unknown ca") || absl::StrContains(all, "alert bad certificate")) {
    return absl::UnauthenticatedError(absl::StrCat(refused, "it comes from another authority", kJoinAgain));
  }
  if (absl::StrContains(all, "alert certificate required")) {
    return absl::UnauthenticatedError(absl::StrCat(refused, "the server saw none"));
  }
  if (absl::StrContains(all, "wrong version number") || absl::StrContains(all, "WRONG_VERSION_NUMBER")) {
    return absl::UnavailableError(absl::StrCat("what listens at ", call.server, " does not speak TLS"));
  }
  return absl::UnavailableError(absl::StrCat("server ", call.server, " not reachable: ", call.message));
}

}  // namespace

absl::Status ExplainFailure(const FailedCall& call) {
  switch (call.code) {
    case absl::StatusCode::kUnavailable: return ExplainUnavailable(call);
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(absl::StrCat("server ", call.server, " did not answer in time"));
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kResourceExhausted:
      // It was reached, and said no: another matter than a network.
      return absl::Status(call.code, absl::StrCat("refused: ", call.message));
    default: return absl::Status(call.code, call.message);
  }
}

}  // namespace paritect
