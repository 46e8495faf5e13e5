#include "client/remote/answers.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "client/report/audit_options.h"
#include "common/date.h"
#include "common/nearest.h"
#include "common/utf8.h"

namespace paritect {

absl::Status RequireCheck(const Rules& rules, const std::string& id) {
  if (rules.catalogue.FindCheck(id) != nullptr) return absl::OkStatus();
  if (const CatalogueItem* item = rules.catalogue.FindItem(id)) {
    std::vector<std::string> checks;
    for (const CatalogueCheck& check : item->checks) checks.push_back(check.id);
    return absl::InvalidArgumentError(
        absl::StrCat(id, " is an item; name one of its checks: ", absl::StrJoin(checks, ", ")));
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no check '", DisplayBytes(id), "'",
                                                 DidYouMean(id, CatalogueIds(rules, true)),
                                                 " (`paritect explain` lists all)"));
}

absl::Status RequireDate(const std::string& today, const std::string& until) {
  if (!IsDate(until)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until ", DisplayBytes(until), ": write the last day as YYYY-MM-DD"));
  }
  if (!today.empty() && until < today) {
    return absl::InvalidArgumentError(absl::StrCat("--until ", until, " has passed (today is ", today, ")"));
  }
  return absl::OkStatus();
}

absl::Status RequirePerson(const std::string& by, const std::string& reason) {
  if (absl::StripAsciiWhitespace(by).empty()) return absl::InvalidArgumentError("--by: name the person who answers");
  if (absl::StripAsciiWhitespace(reason).empty()) return absl::InvalidArgumentError("--reason: say why");
  return absl::OkStatus();
}

}  // namespace paritect
