// Thresholds as `explain` and `why` show them.
#ifndef PARITECT_CLIENT_REPORT_LIMITS_TEXT_H_
#define PARITECT_CLIENT_REPORT_LIMITS_TEXT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

// "overflow_rate = 0.005 (pre-tuning/1)" for each threshold of the check's rule, with the value of `profile`.
std::vector<std::string> LimitsInForce(const Rules& rules, const Profile& profile, const CatalogueCheck& check,
                                       absl::Span<const Language> languages);

// What the check looks at, in words: "baseline: training logs (plan: logs)".
std::vector<std::string> EvidenceInWords(const Rules& rules, const CatalogueCheck& check,
                                         absl::Span<const Language> languages);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_LIMITS_TEXT_H_
