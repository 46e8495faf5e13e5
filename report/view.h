// A report seen as people read it: counts, failures, what is missing grouped by what would bring it.
// Shared by the formats for people (table, markdown).
#ifndef PARITECT_REPORT_VIEW_H_
#define PARITECT_REPORT_VIEW_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/report.pb.h"
#include "report/language.h"
#include "rules/rules.h"

namespace paritect {

// A verdict as people are told it: a pass whose question does not arise (note `not_applicable`) is none that was
// performed, and of an item none where no check of it was. JSON and exit codes keep the three verdicts.
enum class Standing { kPass, kFail, kNotPerformed, kNotApplicable };
Standing StandingOf(const v1::CheckResult& check);
Standing StandingOf(const v1::ItemResult& item);

struct StandingCounts {
  int pass = 0;
  int fail = 0;
  int not_performed = 0;
  int not_applicable = 0;

  int total() const { return pass + fail + not_performed + not_applicable; }
};

StandingCounts CountItems(const v1::Report& report);
StandingCounts CountChecks(const v1::Report& report);
StandingCounts CountChecks(const v1::ItemResult& item);

// Everything that one and the same step would bring: a report in which sixty checks lack the log says so once.
struct MissingGroup {
  v1::Text how;
  std::vector<v1::Text> what;     // distinct, in report order
  std::vector<std::string> from;  // distinct: nodes, ranks, runs, sides
  std::vector<const v1::CheckResult*> checks;
  int required = 0;  // of `checks`
};

// What holds the most required checks back comes first; what this version cannot do at all, last: nobody can bring it.
std::vector<MissingGroup> GroupMissing(const v1::Report& report, const Rules& rules);

// "data.dataset.{files, content}, data.sharding.ranks", items in the order of the checks.
std::string CompressIds(const std::vector<const v1::CheckResult*>& checks);

// How a finding counts for a reader.
enum class FindingClass { kError, kWaived, kWarning, kNote };
FindingClass ClassOf(const v1::Finding& finding);

// Calls `visit` for every finding of one class, in report order.
void ForEachFinding(const v1::Report& report, FindingClass wanted,
                    absl::FunctionRef<void(const v1::CheckResult&, const v1::Finding&)> visit);

// "gpu-seed1 (gpu-01, gpu-02), gpu-fp32 [fp32-reference]"; "" for a side without runs.
std::string DescribeRuns(const v1::ReportSide& side);

// A word or sentence of the renderers, by its id in rules/data/messages/client.yaml, in the languages wanted.
std::string Word(const Rules& rules, absl::Span<const Language> languages, absl::string_view id,
                 const MessageArgs& args = {});
std::string VerdictName(const Rules& rules, absl::Span<const Language> languages, v1::Verdict verdict);
// The same word; "not applicable" for a pass that was not performed.
std::string StandingName(const Rules& rules, absl::Span<const Language> languages, Standing standing);
// "2 pass, 1 fail, 13 not performed, 1 not applicable"
std::string CountsSentence(const Rules& rules, absl::Span<const Language> languages, const StandingCounts& counts);
// "fail: of 17 items ...": the report in one line.
std::string VerdictLine(const Rules& rules, absl::Span<const Language> languages, const v1::Report& report);

}  // namespace paritect

#endif  // PARITECT_REPORT_VIEW_H_
