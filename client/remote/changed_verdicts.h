// What changed since the run before, grouped by reason: one data set that broke is one line, however many checks
// follow.
#ifndef PARITECT_CLIENT_REMOTE_CHANGED_VERDICTS_H_
#define PARITECT_CLIENT_REMOTE_CHANGED_VERDICTS_H_

#include <string>
#include <vector>

#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/report.pb.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

// One line a group, failures first: "pass → fail: CHECK, CHECK (reason)". The reason is the cause of what fails now, or
// what is missing of what cannot be told any more; `report` is the one after the change.
std::vector<std::string> ChangedLines(const Rules& rules, Language language, const v1::AuditRun& run,
                                      const v1::Report& report);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_CHANGED_VERDICTS_H_
