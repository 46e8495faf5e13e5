// Who may look at the server's page: a one-time token from the command line becomes a session of the browser, with the
// role of whoever asked for it, and does not outlive that one's certificate. Kept in memory alone: a restart ends all
// sessions.
#ifndef PARITECT_SERVER_LOGINS_H_
#define PARITECT_SERVER_LOGINS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "paritect/v1/fleet.pb.h"
#include "server/wall_clock.h"

namespace paritect {

// Who asked for it, with which certificate: role, name, serial and end. Where there is no TLS: neither serial nor end.
struct LoginHolder {
  std::string actor;  // "operator/anna"
  v1::NodeRecord certificate;
};

struct Login {
  std::string secret;
  std::int64_t expires_unix = 0;
};

// Thread-safe.
class Logins {
 public:
  static constexpr std::int64_t kTokenSeconds = 300;         // from the command line to the browser
  static constexpr std::int64_t kSessionSeconds = 8 * 3600;  // where the caller asks for no other time
  static constexpr std::int64_t kSessionSecondsMax = 7 * 86400;
  static constexpr std::size_t kSessionsOfOneMax = 16;  // then that one's which ends first goes
  static constexpr std::size_t kSessionsMax = 1000;     // of all; then the one that ends first goes

  explicit Logins(WallClock clock) : clock_(std::move(clock)) {}

  // `session_s` 0: kSessionSeconds. InvalidArgument: longer than kSessionSecondsMax.
  absl::StatusOr<Login> NewToken(LoginHolder holder, std::int64_t session_s);
  // Uses the token up. PermissionDenied: unknown, used, or too late.
  absl::StatusOr<Login> Enter(absl::string_view token);
  // Whose session it is; nullopt: none such, or over.
  std::optional<LoginHolder> HolderOf(absl::string_view session);
  void Leave(absl::string_view session);

 private:
  struct Held {
    LoginHolder holder;
    std::int64_t expires_unix = 0;
    std::int64_t session_s = 0;  // of a token
  };
  using Table = std::map<std::string, Held>;  // by the SHA-256 of the secret

  static void DropExpired(std::int64_t now, Table& table);
  absl::StatusOr<Login> Add(Held held, Table& table) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WallClock clock_;
  absl::Mutex mutex_;
  Table tokens_ ABSL_GUARDED_BY(mutex_);
  Table sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_SERVER_LOGINS_H_
