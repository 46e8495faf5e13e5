// What enrolment reads from strangers and from disk: certificate requests, certificates, identity tables, credential
// files, pins, tokens, addresses. The first byte chooses the reader. Keys are made at start; in an input @AUTHORITY@,
// @CERTIFICATE@ and @KEY@ stand for the blocks of a good credential, so that the corpus holds no private key.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/credential.h"
#include "common/host_port.h"
#include "common/pki/join_token.h"
#include "common/pki/peer.h"
#include "common/pki/pin.h"
#include "common/pki/request.h"
#include "common/pki/server_folder.h"
#include "re2/re2.h"
#include "tests/fuzz/fuzz.h"

namespace paritect {
namespace {

constexpr std::int64_t kNow = 1'790'000'000;

const Authority& TheAuthority() {
  static const auto* const authority = new Authority(*Authority::Create(kNow));
  return *authority;
}

const Credential& TheCredential() {
  static const auto* const credential = new Credential(
      *IssueCredential(TheAuthority(), {Role::kAgent, "gpu-01"}, {"localhost:7400"}, kDaySeconds, kNow));
  return *credential;
}

std::string Indented(absl::string_view pem) { return absl::StrReplaceAll(pem, {{"\n", "\n  "}}); }

void FuzzRequest(absl::string_view text) {
  const auto request = CertificateRequest::FromPem(text);
  if (!request.ok()) return FuzzCheck(absl::IsInvalidArgument(request.status()), "a bad request is InvalidArgument");
  const Identity identity = {Role::kViewer, "stamped"};
  const auto certificate = TheAuthority().SignClient(*request, identity, kDaySeconds, kNow);
  FuzzCheck(certificate.ok(), "a request that was accepted can be signed");
  FuzzCheck(*StampedIdentity(*certificate) == identity, "nothing but the stamp comes from a request's certificate");
}

void FuzzPeer(absl::string_view text) {
  const auto list = Certificate::ListFromPem(text);
  const auto peer = ParsePeer(text);
  FuzzCheck(list.ok() || !peer.ok(), "a peer has a certificate");
  if (peer.ok()) {
    FuzzCheck(CheckName(peer->identity.name).ok(), "a peer's name keeps the rules");
    FuzzCheck(*ParseIdentityUri(IdentityUri(peer->identity)) == peer->identity, "one identity, one URI");
  }
  if (!list.ok()) return;
  FuzzCheck(list->size() <= kCertificatesMax, "a chain is bounded");
  const ChainQuery query = {ChainQuery::Purpose::kServer, kNow, "localhost"};
  FuzzCheck(!VerifyChain(*list, TheAuthority().certificate(), query).ok(), "no stranger's chain leads to us");
}

void FuzzTable(absl::string_view text) {
  static const re2::RE2 kPlace("^[0-9]+:[0-9]+: ");
  static const auto* const certificate = new Certificate(*Certificate::FromPem(TheCredential().certificate_pem));
  const auto table = IdentityMap::Parse(text);
  if (!table.ok()) {
    FuzzCheck(re2::RE2::PartialMatch(std::string(table.status().message()), kPlace), "an error says LINE:COLUMN");
    return;
  }
  const auto identity = table->Find(*certificate);
  FuzzCheck(!identity.ok() || CheckName(identity->name).ok(), "a table gives names that keep the rules");
}

void FuzzCredential(absl::string_view text) {
  const std::string filled = absl::StrReplaceAll(text, {{"@AUTHORITY@", Indented(TheCredential().authority_pem)},
                                                        {"@CERTIFICATE@", Indented(TheCredential().certificate_pem)},
                                                        {"@KEY@", Indented(TheCredential().key_pem)}});
  const auto credential = ParseCredential(filled);
  if (!credential.ok()) {
    const std::string key = TheCredential().key_pem.substr(60, 40);
    FuzzCheck(credential.status().message().find(key) == absl::string_view::npos, "no error shows a key");
    return;
  }
  const auto again = ParseCredential(*FormatCredential(*credential));
  FuzzCheck(again.ok() && again->identity == credential->identity && again->servers == credential->servers,
            "a credential survives being written");
}

void FuzzShortTexts(absl::string_view text) {
  const auto pin = CaPin::Parse(text);
  FuzzCheck(!pin.ok() || CaPin::Parse(pin->ToString())->ToString() == pin->ToString(), "a pin has one spelling");
  const auto digest = TokenDigest(text);
  FuzzCheck(!digest.ok() || digest->size() == 64, "a token's digest is SHA-256");
  const auto address = ParseHostPort(text);
  FuzzCheck(!address.ok() || *ParseHostPort(FormatHostPort(*address)) == *address, "an address survives being written");
  const auto identity = ParseIdentityUri(text);
  FuzzCheck(!identity.ok() || IdentityUri(*identity) == text, "one identity, one URI");
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const absl::string_view text = FuzzInput(data + 1, size - 1);
  switch (data[0]) {
    case 'r':
      FuzzRequest(text);
      break;
    case 'p':
      FuzzPeer(text);
      break;
    case 't':
      FuzzTable(text);
      break;
    case 'c':
      FuzzCredential(text);
      break;
    default:
      FuzzShortTexts(text);
      break;
  }
  return 0;
}
