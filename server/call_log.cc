#include "server/call_log.h"

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr std::int64_t kRefusalEveryMs = 1000;
constexpr std::size_t kActorsMax = 10'000;

}  // namespace

void CallLog::Write(absl::string_view actor, absl::string_view action, absl::string_view subject,
                    const absl::Status& outcome, absl::string_view detail) {
  const std::int64_t now = clock_();
  std::int64_t held_back = 0;
  if (!outcome.ok()) {
    absl::MutexLock lock(&mutex_);
    if (refusals_.size() >= kActorsMax) refusals_.clear();
    Refusals& refusals = refusals_[absl::StrCat(actor, " ", action)];
    if (refusals.written_ms != 0 && now - refusals.written_ms < kRefusalEveryMs) {
      ++refusals.held_back;
      return;
    }
    held_back = refusals.held_back;
    refusals = {now, 0};
  }
  v1::AuditLogEntry entry;
  entry.set_at_unix_ms(now);
  entry.set_actor(std::string(actor));
  entry.set_action(std::string(action));
  entry.set_subject(std::string(subject.substr(0, 1000)));
  entry.set_outcome(outcome.ok() ? "ok" : absl::StrCat("refused: ", outcome.message().substr(0, 1000)));
  entry.set_detail(held_back == 0 ? std::string(detail)
                                  : absl::StrCat(detail, "; ", held_back, " more like it before"));
  WriteSet set;
  set.log.push_back(std::move(entry));
  const absl::Status submitted = submit_(std::move(set), [this](absl::Status status) {
    if (!status.ok()) ++lost_;
  });
  if (!submitted.ok()) ++lost_;
}

}  // namespace paritect
