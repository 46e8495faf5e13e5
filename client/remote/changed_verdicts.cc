#include "client/remote/changed_verdicts.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/explaining/causes.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {
namespace {

// Failures first, then what was lost, then what was won.
int OrderOf(v1::Verdict after) {
  return after == v1::VERDICT_FAIL ? 0 : after == v1::VERDICT_NOT_PERFORMED ? 1 : 2;
}

// Why a check has its verdict now; "" where it passes.
class Reasons {
 public:
  Reasons(const Rules& rules, Language language, const v1::Report& report) : language_(language) {
    for (const Cause& cause : CausesOf(BuiltInCauses(), report)) {
      const std::string brief = BriefCause(rules, language, report, cause);
      reasons_.emplace(cause.check->id(), brief);
      for (const Consequence& one : cause.consequences) reasons_.emplace(one.check->id(), brief);
    }
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) AddMissing(check);
    }
  }

  std::string Of(const v1::ChangedVerdict& changed) const {
    const auto found = reasons_.find(changed.check());
    return changed.after() == v1::VERDICT_PASS || found == reasons_.end() ? "" : found->second;
  }

 private:
  void AddMissing(const v1::CheckResult& check) {
    if (check.verdict() != v1::VERDICT_NOT_PERFORMED || check.missing_size() == 0) return;
    reasons_.emplace(check.id(), In(language_, check.missing(0).what()));
  }

  const Language language_;
  std::map<std::string, std::string> reasons_;  // by check
};

}  // namespace

std::vector<std::string> ChangedLines(const Rules& rules, Language language, const v1::AuditRun& run,
                                      const v1::Report& report) {
  const Reasons reasons(rules, language, report);
  std::map<std::tuple<int, int, std::string>, std::vector<std::string>> groups;
  for (const v1::ChangedVerdict& one : run.changed()) {
    groups[{OrderOf(one.after()), one.before(), reasons.Of(one)}].push_back(one.check());
  }
  const absl::Span<const Language> languages(&language, 1);
  const std::string comma = language == Language::kChinese ? "、" : ", ";
  std::vector<std::string> lines;
  for (const auto& [key, checks] : groups) {
    const auto& [order, before, reason] = key;
    const v1::Verdict after = order == 0 ? v1::VERDICT_FAIL : order == 1 ? v1::VERDICT_NOT_PERFORMED : v1::VERDICT_PASS;
    lines.push_back(Word(rules, languages, reason.empty() ? "changed_group" : "changed_group/reason",
                         {{"before", VerdictName(rules, languages, static_cast<v1::Verdict>(before))},
                          {"after", VerdictName(rules, languages, after)},
                          {"checks", absl::StrJoin(checks, comma)},
                          {"reason", reason}}));
  }
  return lines;
}

}  // namespace paritect
