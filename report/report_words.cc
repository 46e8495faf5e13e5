#include "report/report_words.h"

#include "absl/time/time.h"

namespace paritect {

std::string TimeText(std::int64_t unix_ms) {
  if (unix_ms == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_ms / 1000), absl::UTCTimeZone());
}

const char* VerdictWord(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return "pass";
    case v1::VERDICT_FAIL: return "fail";
    default: return "not_performed";
  }
}

const char* SeverityWord(v1::Severity severity) {
  switch (severity) {
    case v1::SEVERITY_ERROR: return "error";
    case v1::SEVERITY_WARNING: return "warning";
    default: return "note";
  }
}

}  // namespace paritect
