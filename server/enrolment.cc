#include "server/enrolment.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/duration.h"
#include "common/pki/join_token.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kTokens = "token";
constexpr std::int64_t kTokenLifetimeDefault_s = 3600;
constexpr std::int64_t kTokenLifetimeMax_s = 30 * kDaySeconds;
constexpr std::int64_t kExpiredKept_s = 7 * kDaySeconds;
constexpr std::size_t kTokenIdDigits = 12;
constexpr int kTokenUsesMax = 100'000;
// A token has 160 bits: guessing is hopeless anyway; this keeps the log and the processor free of it.
constexpr double kGuessesBurst = 20;
constexpr double kGuessesPerSecond = 1;
constexpr std::size_t kAddressesMax = 10'000;

std::string ActorOf(const Identity& identity) {
  return absl::StrCat(RoleName(identity.role), "/", identity.name);
}

v1::AuditLogEntry LogEntry(std::int64_t now_ms, absl::string_view actor, absl::string_view address,
                           absl::string_view action, absl::string_view subject, absl::string_view detail) {
  v1::AuditLogEntry entry;
  entry.set_at_unix_ms(now_ms);
  entry.set_address(std::string(address));
  entry.set_actor(std::string(actor));
  entry.set_action(std::string(action));
  entry.set_subject(std::string(subject));
  entry.set_outcome("ok");
  entry.set_detail(std::string(detail));
  return entry;
}

void EndToken(absl::string_view how, std::int64_t now_unix, v1::JoinToken& token) {
  token.set_uses_left(0);
  token.set_ended_unix(now_unix);
  token.set_ended(std::string(how));
}

}  // namespace

Enrolment::Enrolment(const ServerFolder& folder, FleetStore& store, Fleet& fleet,
                     std::function<absl::Status(WriteSet)> commit, WallClock clock, EnrolmentOptions options)
    : folder_(folder),
      store_(store),
      fleet_(fleet),
      commit_(std::move(commit)),
      clock_(std::move(clock)),
      options_(options) {}

absl::StatusOr<v1::CreateTokenResponse> Enrolment::CreateToken(const v1::CreateTokenRequest& request,
                                                               const std::string& by) {
  PARITECT_RETURN_IF_ERROR(folder_.Enroller().status());
  const std::optional<Role> role = FromProto(request.role());
  if (!role) return absl::InvalidArgumentError("a token needs a role: agent, viewer, operator or admin");
  if (!request.node().empty()) PARITECT_RETURN_IF_ERROR(CheckTokenNode(request.node()));
  if (request.ttl_seconds() < 0 || request.ttl_seconds() > kTokenLifetimeMax_s) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token lives from a second to ", FormatDuration(kTokenLifetimeMax_s)));
  }
  if (request.uses() < 0 || request.uses() > kTokenUsesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a token serves from 1 to ", kTokenUsesMax, " times"));
  }
  PARITECT_ASSIGN_OR_RETURN(const std::string token, NewToken());
  PARITECT_ASSIGN_OR_RETURN(const std::string key, TokenDigest(token));
  const std::int64_t now_s = clock_() / 1000;
  v1::JoinToken stored;
  stored.set_role(request.role());
  stored.set_node(request.node());
  stored.set_expires_unix(now_s + (request.ttl_seconds() > 0 ? request.ttl_seconds() : kTokenLifetimeDefault_s));
  stored.set_uses_left(std::max(1, request.uses()));
  stored.set_created_by(by);
  stored.set_created_unix(now_s);
  WriteSet set;
  set.documents.push_back({std::string(kTokens), key, stored.SerializeAsString(), {}});
  PARITECT_RETURN_IF_ERROR(DropExpired(set));
  PARITECT_RETURN_IF_ERROR(commit_(std::move(set)));
  v1::CreateTokenResponse response;
  response.set_id(key.substr(0, kTokenIdDigits));
  response.set_token(token);
  response.set_expires_unix(stored.expires_unix());
  return response;
}

absl::StatusOr<v1::ListTokensResponse> Enrolment::ListTokens() {
  v1::ListTokensResponse response;
  const std::int64_t now_s = clock_() / 1000;
  PARITECT_RETURN_IF_ERROR(store_.Scan(kTokens, "", "", [&](absl::string_view key, absl::string_view value) {
    v1::JoinToken token;
    const bool read = token.ParseFromArray(value.data(), static_cast<int>(value.size()));
    if (!read || token.expires_unix() <= now_s || token.ended_unix() > 0) return true;
    v1::TokenRow& row = *response.add_tokens();
    row.set_id(std::string(key.substr(0, kTokenIdDigits)));
    *row.mutable_token() = std::move(token);
    return true;
  }));
  std::sort(response.mutable_tokens()->begin(), response.mutable_tokens()->end(),
            [](const v1::TokenRow& a, const v1::TokenRow& b) {
              return std::pair(a.token().expires_unix(), a.id()) < std::pair(b.token().expires_unix(), b.id());
            });
  return response;
}

absl::StatusOr<v1::RevokeTokenResponse> Enrolment::RevokeToken(const std::string& id) {
  if (id.size() < kTokenIdDigits) {
    return absl::InvalidArgumentError(absl::StrCat("a token is named by ", kTokenIdDigits,
                                                   " digits or more of its "
                                                   "digest (`paritect token ls`)"));
  }
  absl::MutexLock lock(&mutex_);
  v1::RevokeTokenResponse response;
  WriteSet set;
  PARITECT_RETURN_IF_ERROR(store_.Scan(kTokens, id, "", [&](absl::string_view key, absl::string_view value) {
    v1::JoinToken token;
    if (!token.ParseFromArray(value.data(), static_cast<int>(value.size())) || token.ended_unix() > 0) return true;
    response.mutable_token()->set_id(std::string(key.substr(0, kTokenIdDigits)));
    *response.mutable_token()->mutable_token() = token;
    EndToken("revoked", clock_() / 1000, token);
    set.documents.push_back({std::string(kTokens), std::string(key), token.SerializeAsString(), {}});
    return false;
  }));
  if (set.documents.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no token ", id,
                                            ": used up, expired or revoked already "
                                            "(`paritect token ls` lists all)"));
  }
  PARITECT_RETURN_IF_ERROR(commit_(std::move(set)));
  return response;
}

// Tokens go some time after their end.
absl::Status Enrolment::DropExpired(WriteSet& set) {
  const std::int64_t before = clock_() / 1000 - kExpiredKept_s;
  return store_.Scan(kTokens, "", "", [&](absl::string_view key, absl::string_view value) {
    v1::JoinToken token;
    const bool read = token.ParseFromArray(value.data(), static_cast<int>(value.size()));
    if (read && token.expires_unix() < before) {
      set.documents.push_back({std::string(kTokens), std::string(key), std::nullopt, {}});
    }
    return true;
  });
}

absl::Status Enrolment::CheckGuesses(const std::string& address) {
  const auto found = guesses_.find(address);
  if (found == guesses_.end()) return absl::OkStatus();
  Guesses& guesses = found->second;
  const std::int64_t now = clock_();
  guesses.count = std::max(0.0, guesses.count - static_cast<double>(now - guesses.at_ms) / 1000 * kGuessesPerSecond);
  guesses.at_ms = now;
  if (guesses.count < kGuessesBurst) return absl::OkStatus();
  return absl::ResourceExhaustedError("too many wrong tokens from this address; wait a minute");
}

void Enrolment::CountGuess(const std::string& address) {
  if (guesses_.size() >= kAddressesMax) guesses_.clear();
  Guesses& guesses = guesses_[address];
  guesses.count += 1;
  guesses.at_ms = clock_();
}

// Takes one use off the token, in `set`.
absl::StatusOr<v1::JoinToken> Enrolment::UseToken(const std::string& key, const v1::JoinRequest& request,
                                                  WriteSet& set) {
  PARITECT_ASSIGN_OR_RETURN(const auto value, store_.Get(kTokens, key));
  v1::JoinToken token;
  if (!value || !token.ParseFromString(*value)) {
    return absl::PermissionDeniedError(
        "this token is not known here: mistyped, made by another server, or ended long ago (`paritect token create`)");
  }
  if (token.ended_unix() > 0) {
    return absl::PermissionDeniedError(absl::StrCat("this token was ", token.ended() == "used" ? "used up" : "revoked",
                                                    " at ", FormatTime(token.ended_unix() * 1000),
                                                    "; make a new one (`paritect token create`)"));
  }
  if (token.expires_unix() <= clock_() / 1000) {
    return absl::PermissionDeniedError(absl::StrCat("this token expired at ", FormatTime(token.expires_unix() * 1000),
                                                    "; make a new one (`paritect token create`)"));
  }
  if (!TokenServes(token.node(), request.name())) {
    return absl::PermissionDeniedError(absl::StrCat("this token is for '", token.node(), "', not for '",
                                                    request.name(), "'"));
  }
  const auto& accepts = request.accepts();
  if (!accepts.empty() && std::find(accepts.begin(), accepts.end(), token.role()) == accepts.end()) {
    const std::string role(RoleName(*FromProto(token.role())));
    return absl::InvalidArgumentError(absl::StrCat(
        "this token is for the role ", role, "; it was not used up: ",
        token.role() == v1::ACCESS_ROLE_AGENT ? "nodes join with `paritect-agent join`"
                                              : "persons join with `paritect join`, nodes need a token of role agent"));
  }
  token.set_uses_left(token.uses_left() - 1);
  if (token.uses_left() <= 0) EndToken("used", clock_() / 1000, token);
  set.documents.push_back({std::string(kTokens), key, token.SerializeAsString(), {}});
  return token;
}

absl::StatusOr<v1::JoinResponse> Enrolment::Sign(const Identity& identity, absl::string_view request_pem,
                                                 v1::NodeRecord& record) {
  PARITECT_ASSIGN_OR_RETURN(const Authority* authority, folder_.Enroller());
  PARITECT_ASSIGN_OR_RETURN(const CertificateRequest request, CertificateRequest::FromPem(request_pem));
  const std::int64_t now_s = clock_() / 1000;
  const std::int64_t lifetime = identity.role == Role::kAgent ? options_.lifetime_s : options_.person_lifetime_s;
  PARITECT_ASSIGN_OR_RETURN(const Certificate certificate, authority->SignClient(request, identity, lifetime, now_s));
  record.set_name(identity.name);
  record.set_role(ToProto(identity.role));
  record.set_serial(certificate.SerialHex());
  record.set_fingerprint(certificate.Fingerprint());
  record.set_certificate_expires_unix(certificate.NotAfter());
  v1::JoinResponse response;
  response.set_certificate_pem(certificate.ToPem());
  response.set_authority_pem(folder_.authorities_pem);
  response.set_role(record.role());
  response.set_name(identity.name);
  response.set_expires_unix(certificate.NotAfter());
  return response;
}

absl::StatusOr<v1::JoinResponse> Enrolment::Join(const v1::JoinRequest& request, const std::string& address) {
  absl::MutexLock lock(&mutex_);
  PARITECT_RETURN_IF_ERROR(CheckGuesses(address));
  PARITECT_RETURN_IF_ERROR(CheckName(request.name()));
  auto key = TokenDigest(request.token());
  if (!key.ok()) {
    CountGuess(address);
    return absl::PermissionDeniedError(key.status().message());
  }
  WriteSet set;
  auto token = UseToken(*key, request, set);
  if (!token.ok()) {
    CountGuess(address);
    return token.status();
  }
  const Identity identity = {*FromProto(token->role()), request.name()};
  v1::NodeRecord record;
  record.set_joined_unix(clock_() / 1000);
  PARITECT_ASSIGN_OR_RETURN(v1::JoinResponse response, Sign(identity, request.signing_request_pem(), record));
  // A token made for one name allows to take that name again: a node that was installed anew, or was revoked.
  PARITECT_ASSIGN_OR_RETURN(WriteSet holder, fleet_.PrepareEnrolment(record, token->node() == request.name()));
  set.documents.insert(set.documents.end(), holder.documents.begin(), holder.documents.end());
  set.log.push_back(LogEntry(clock_(), absl::StrCat("-/", address), address, "Join", ActorOf(identity),
                             absl::StrCat("serial ", record.serial(), ", token ", key->substr(0, kTokenIdDigits),
                                          " of ", token->created_by())));
  const v1::AuditLogEntry entry = set.log[0];
  PARITECT_RETURN_IF_ERROR(commit_(std::move(set)));
  if (options_.tell) options_.tell(entry);
  fleet_.Enrolled(holder);
  return response;
}

absl::StatusOr<v1::JoinResponse> Enrolment::Renew(const Identity& identity, const v1::RenewRequest& request,
                                                  const std::string& address) {
  absl::MutexLock lock(&mutex_);
  v1::NodeRecord record;
  for (const v1::NodeRecord& holder : fleet_.Holders()) {
    if (holder.name() == identity.name && holder.role() == ToProto(identity.role)) {
      record.set_joined_unix(holder.joined_unix());
      if (holder.state() == "revoked") return absl::PermissionDeniedError("revoked");
    }
  }
  PARITECT_ASSIGN_OR_RETURN(v1::JoinResponse response, Sign(identity, request.signing_request_pem(), record));
  PARITECT_ASSIGN_OR_RETURN(WriteSet set, fleet_.PrepareEnrolment(record, true));
  const WriteSet holder = set;
  set.log.push_back(LogEntry(clock_(), ActorOf(identity), address, "Renew", ActorOf(identity),
                             absl::StrCat("serial ", record.serial())));
  const v1::AuditLogEntry entry = set.log[0];
  PARITECT_RETURN_IF_ERROR(commit_(std::move(set)));
  if (options_.tell) options_.tell(entry);
  fleet_.Enrolled(holder);
  return response;
}

}  // namespace paritect
