// Who may become what: join tokens, the first certificate, renewals. No gRPC.
#ifndef PARITECT_SERVER_ENROLMENT_H_
#define PARITECT_SERVER_ENROLMENT_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/pki/server_folder.h"
#include "paritect/v1/agents.pb.h"
#include "paritect/v1/operators.pb.h"
#include "server/access_role.h"
#include "server/fleet.h"

namespace paritect {

struct EnrolmentOptions {
  std::int64_t lifetime_s = kClientLifetimeSeconds;
  std::int64_t person_lifetime_s = 30 * kDaySeconds;  // viewers, operators, admins: nobody renews for them
  std::function<void(const v1::AuditLogEntry&)> tell;  // each enrolment and renewal; may be empty
};

// Thread-safe.
class Enrolment {
 public:
  // `commit` as AuditPorts::commit.
  Enrolment(const ServerFolder& folder, FleetStore& store, Fleet& fleet, std::function<absl::Status(WriteSet)> commit,
            WallClock clock, EnrolmentOptions options = {});

  // InvalidArgument; FailedPrecondition: this server signs nothing.
  absl::StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request, const std::string& by);
  // Those that may still be used, by their end.
  absl::StatusOr<v1::ListTokensResponse> ListTokens();
  // InvalidArgument: too short to name one. NotFound.
  absl::StatusOr<v1::RevokeTokenResponse> RevokeToken(const std::string& id);
  // `address`: of the caller, for the limit on guesses. PermissionDenied: the token is unknown, used up, expired or for
  // another name; ResourceExhausted: too many wrong tokens from there.
  absl::StatusOr<v1::JoinResponse> Join(const v1::JoinRequest& request, const std::string& address);
  // A new certificate for the same identity, whose present one is still good.
  absl::StatusOr<v1::JoinResponse> Renew(const Identity& identity, const v1::RenewRequest& request,
                                         const std::string& address = "");

 private:
  absl::StatusOr<v1::JoinResponse> Sign(const Identity& identity, absl::string_view request_pem,
                                        v1::NodeRecord& record);
  absl::StatusOr<v1::JoinToken> UseToken(const std::string& key, const v1::JoinRequest& request, WriteSet& set);
  absl::Status DropExpired(WriteSet& set);
  absl::Status CheckGuesses(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountGuess(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ServerFolder& folder_;
  FleetStore& store_;
  Fleet& fleet_;
  const std::function<absl::Status(WriteSet)> commit_;
  const WallClock clock_;
  const EnrolmentOptions options_;

  absl::Mutex mutex_;  // one enrolment at a time: a token is used once
  struct Guesses {
    double count = 0;
    std::int64_t at_ms = 0;
  };
  std::map<std::string, Guesses> guesses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_SERVER_ENROLMENT_H_
