#include "server/call_log.h"

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr std::int64_t kAgainEveryMs = 1000;
constexpr std::size_t kActorsMax = 10'000;
constexpr std::size_t kTextBytesMax = 1000;

std::string Short(absl::string_view text) {
  return std::string(text.substr(0, kTextBytesMax));
}

}  // namespace

std::optional<std::int64_t> CallLog::HeldBackBefore(const LoggedCall& call, std::int64_t now) {
  absl::MutexLock lock(&mutex_);
  if (repeats_.size() >= kActorsMax) repeats_.clear();
  Repeats& repeats = repeats_[absl::StrCat(call.actor, " ", call.action)];
  if (repeats.written_ms != 0 && now - repeats.written_ms < kAgainEveryMs) {
    ++repeats.held_back;
    return std::nullopt;
  }
  const std::int64_t held_back = repeats.held_back;
  repeats = {now, 0};
  return held_back;
}

void CallLog::Write(const LoggedCall& call, const absl::Status& outcome) {
  const std::int64_t now = clock_();
  std::int64_t held_back = 0;
  if (!outcome.ok() || call.often) {
    const auto before = HeldBackBefore(call, now);
    if (!before) return;
    held_back = *before;
  }
  v1::AuditLogEntry entry;
  entry.set_at_unix_ms(now);
  entry.set_actor(call.actor);
  entry.set_address(call.address);
  entry.set_action(call.action);
  entry.set_subject(Short(call.subject));
  entry.set_outcome(outcome.ok() ? "ok" : absl::StrCat("refused: ", Short(outcome.message())));
  entry.set_detail(Short(call.detail));
  if (held_back > 0) entry.set_detail(absl::StrCat(entry.detail(), "; ", held_back, " more like it before"));
  if (tell_) tell_(entry);
  WriteSet set;
  set.log.push_back(std::move(entry));
  const absl::Status submitted = submit_(std::move(set), [this](absl::Status status) {
    if (!status.ok()) ++lost_;
  });
  if (!submitted.ok()) ++lost_;
}

}  // namespace paritect
