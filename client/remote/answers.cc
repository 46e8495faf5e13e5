#include "client/remote/answers.h"

#include <re2/re2.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "client/report/audit_options.h"
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

bool IsDate(const std::string& text) {
  int year = 0;
  int month = 0;
  int day = 0;
  static const RE2& form = *new RE2(R"((\d{4})-(\d{2})-(\d{2}))");
  if (!RE2::FullMatch(text, form, &year, &month, &day)) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const int days[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
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
