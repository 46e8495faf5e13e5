// What a report says in a few sentences: the answer, its causes, who did not report, what was compared. Shared by the
// formats for people, so that all of them give one answer.
#ifndef PARITECT_REPORT_SUMMARY_H_
#define PARITECT_REPORT_SUMMARY_H_

#include <string>
#include <vector>

#include "checks/causes.h"
#include "paritect/v1/pictures.pb.h"
#include "paritect/v1/report.pb.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

// The cause in a few words (report/brief.h), with the count of what it stands for beside the first.
std::string BriefCause(const Rules& rules, Language language, const v1::Report& report, const Cause& cause);
// Findings of its check and kind, also those that the cap of the report took away.
std::int64_t CountFindings(const Cause& cause);

// The report in a sentence or two that can be forwarded: "FAIL: 3 causes. A · B · C. 2 findings follow from them.",
// "NOTHING FAILED: 9 items pass, 8 are open. …".
std::string VerdictSentence(const Rules& rules, Language language, const v1::Report& report,
                            const std::vector<Cause>& causes);
// "INCOMPLETE: npu-17 did not report; 32 checks wait for that."; "" where everyone reported.
std::string IncompleteSentence(const Rules& rules, Language language, const v1::Report& report);

// What was measured by checks that passed, one note each, in report order.
struct Compared {
  const v1::CheckResult* check = nullptr;
  const v1::Finding* note = nullptr;
};
std::vector<Compared> WhatWasCompared(const v1::Report& report);

// Time, host and run of the report in words, each by itself; what is not known is left out.
std::vector<std::string> MetaParts(const Rules& rules, absl::Span<const Language> languages,
                                   const v1::ReportMeta* meta);

}  // namespace paritect

#endif  // PARITECT_REPORT_SUMMARY_H_
