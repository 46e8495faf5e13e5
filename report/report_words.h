// The words of a report's JSON, which other formats use as well.
#ifndef PARITECT_REPORT_REPORT_WORDS_H_
#define PARITECT_REPORT_REPORT_WORDS_H_

#include <cstdint>
#include <string>

#include "paritect/v1/report.pb.h"

namespace paritect {

// "pass", "fail", "not_performed"
const char* VerdictWord(v1::Verdict verdict);
// "error", "warning", "note"
const char* SeverityWord(v1::Severity severity);

// "2026-11-30T12:00:00Z"; "" for 0.
std::string TimeText(std::int64_t unix_ms);

}  // namespace paritect

#endif  // PARITECT_REPORT_REPORT_WORDS_H_
