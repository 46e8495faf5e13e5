// A finding in a few words, as titles and sentences have it: what is wrong, with both values, on one line.
#ifndef PARITECT_REPORT_BRIEF_H_
#define PARITECT_REPORT_BRIEF_H_

#include <string>

#include "paritect/v1/report.pb.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

struct Brief {
  std::string text;  // "train/part-00007.jsonl: cut off at byte 733 of 949", "learning-rate schedule cosine → linear"
  bool whole = false;  // beside the finding's values and sources its message tells nothing more
};

Brief BriefOf(const Rules& rules, Language language, const v1::Report& report, const v1::CheckResult& check,
              const v1::Finding& finding);

// The words alone.
std::string BriefFinding(const Rules& rules, Language language, const v1::Report& report, const v1::CheckResult& check,
                         const v1::Finding& finding);

}  // namespace paritect

#endif  // PARITECT_REPORT_BRIEF_H_
