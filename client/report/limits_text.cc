#include "client/report/limits_text.h"

#include "common/numbers.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {

std::vector<std::string> LimitsInForce(const Rules& rules, const Profile& profile, const CatalogueCheck& check,
                                       absl::Span<const Language> languages) {
  std::vector<std::string> lines;
  for (const std::string& name : check.limits) {
    const double value = profile.threshold(name);
    const bool changed = value != rules.profile.threshold(name);
    lines.push_back(Word(
        rules, languages, "ui_profile_value",
        {{"name", name}, {"value", FormatDouble(value)}, {"profile", changed ? profile.name : rules.profile.name}}));
  }
  return lines;
}

std::vector<std::string> EvidenceInWords(const Rules& rules, const CatalogueCheck& check,
                                         absl::Span<const Language> languages) {
  std::vector<std::string> lines;
  for (const std::string& need : check.evidence) {
    const std::vector<std::string> words = absl::StrSplit(need, ' ');
    const bool one_side = words.size() == 2;
    const std::string what = Word(rules, languages, absl::StrCat("evidence_", words.back()));
    const bool of_sides = words.back() != "person" && words.back() != "any" && words.back() != "store";
    const std::string side = one_side   ? Word(rules, languages, absl::StrCat("ui_", words[0]))
                             : of_sides ? Word(rules, languages, "ui_both_sides")
                                        : "";
    lines.push_back(side.empty() ? what : absl::StrCat(side, Colon(languages[0]), what));
  }
  return lines;
}

}  // namespace paritect
