#include "client/report/meta.h"

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "client/command.h"

namespace paritect {

std::string ReportTime(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(unix_ms), absl::UTCTimeZone());
}

ReportMeta MetaOfNow(const CommandEnv& env) {
  ReportMeta meta;
  std::int64_t seconds = 0;
  const bool given =
      absl::SimpleAtoi(env.getenv("SOURCE_DATE_EPOCH"), &seconds) && seconds >= 0 && seconds < std::int64_t{1} << 40;
  meta.time = ReportTime(given ? seconds * 1000 : env.now_unix_ms());
  meta.host = env.host_name;
  return meta;
}

}  // namespace paritect
