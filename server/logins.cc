#include "server/logins.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/pki/join_token.h"
#include "common/status_macros.h"

namespace paritect {

void Logins::DropExpired(std::int64_t now, Table& table) {
  for (auto it = table.begin(); it != table.end();) it = it->second.expires_unix <= now ? table.erase(it) : ++it;
}

absl::StatusOr<Login> Logins::Add(Held held, Table& table) {
  const std::int64_t now = clock_() / 1000;
  DropExpired(now, table);
  if (const std::int64_t end = held.holder.certificate.certificate_expires_unix(); end > 0) {
    if (end <= now) return absl::PermissionDeniedError("the certificate that this login was made with has expired");
    held.expires_unix = std::min(held.expires_unix, end);
  }
  // One's own go first: who logs in without end puts nobody else out.
  std::vector<Table::iterator> own;
  std::vector<Table::iterator> all;
  for (auto it = table.begin(); it != table.end(); ++it) {
    all.push_back(it);
    if (it->second.holder.actor == held.holder.actor) own.push_back(it);
  }
  const auto& full = own.size() >= kSessionsOfOneMax ? own : all;
  if (own.size() >= kSessionsOfOneMax || all.size() >= kSessionsMax) {
    table.erase(*std::min_element(full.begin(), full.end(), [](const auto& a, const auto& b) {
      return a->second.expires_unix < b->second.expires_unix;
    }));
  }
  // A join token's 160 random bits.
  PARITECT_ASSIGN_OR_RETURN(std::string secret, paritect::NewToken());
  Login login = {secret, held.expires_unix};
  table[Sha256(secret)] = std::move(held);
  return login;
}

absl::StatusOr<Login> Logins::NewToken(LoginHolder holder, std::int64_t session_s) {
  if (session_s < 0 || session_s > kSessionSecondsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a session lasts at most ", kSessionSecondsMax / 86400, " days"));
  }
  absl::MutexLock lock(&mutex_);
  return Add({std::move(holder), clock_() / 1000 + kTokenSeconds, session_s == 0 ? kSessionSeconds : session_s},
             tokens_);
}

absl::StatusOr<Login> Logins::Enter(absl::string_view token) {
  absl::MutexLock lock(&mutex_);
  DropExpired(clock_() / 1000, tokens_);
  const auto found = tokens_.find(Sha256(token));
  if (found == tokens_.end()) {
    return absl::PermissionDeniedError(
        "this login is not known, was used, or is too old; ask for another one: "
        "`paritect web`");
  }
  const Held held = found->second;
  tokens_.erase(found);
  return Add({held.holder, clock_() / 1000 + held.session_s, 0}, sessions_);
}

std::optional<LoginHolder> Logins::HolderOf(absl::string_view session) {
  absl::MutexLock lock(&mutex_);
  DropExpired(clock_() / 1000, sessions_);
  const auto found = sessions_.find(Sha256(session));
  return found == sessions_.end() ? std::nullopt : std::optional<LoginHolder>(found->second.holder);
}

void Logins::Leave(absl::string_view session) {
  absl::MutexLock lock(&mutex_);
  sessions_.erase(Sha256(session));
}

}  // namespace paritect
