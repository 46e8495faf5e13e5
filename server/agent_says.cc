#include "server/agent_says.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kTextBytesMax = 1024;
constexpr std::int64_t kCountMax = std::int64_t{1} << 53;
constexpr std::int64_t kYear9999UnixMs = 253'402'300'799'999;

std::string Line(absl::string_view text) {
  return DisplayBytes(text.substr(0, kTextBytesMax));
}

}  // namespace

std::int64_t PlausibleCount(std::int64_t told) {
  return std::clamp<std::int64_t>(told, 0, kCountMax);
}

std::int64_t PlausibleClock(std::int64_t told_unix_ms) {
  return told_unix_ms == 0 ? 0 : std::clamp<std::int64_t>(told_unix_ms, 1, kYear9999UnixMs);
}

v1::SpoolState Plausible(const v1::SpoolState& told) {
  v1::SpoolState spool;
  spool.set_bytes(PlausibleCount(told.bytes()));
  spool.set_records(PlausibleCount(told.records()));
  spool.set_oldest_age_ms(PlausibleCount(told.oldest_age_ms()));
  return spool;
}

v1::TaskProgress Plausible(v1::TaskProgress told) {
  told.set_task_id(Line(told.task_id()));
  told.set_stage(Line(told.stage()));
  told.set_current(Line(told.current()));
  told.set_files_done(PlausibleCount(told.files_done()));
  told.set_files_total(PlausibleCount(told.files_total()));
  told.set_bytes_done(PlausibleCount(told.bytes_done()));
  told.set_bytes_total(PlausibleCount(told.bytes_total()));
  return told;
}

}  // namespace paritect
