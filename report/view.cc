#include "report/view.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/node_names.h"
#include "report/report_words.h"

namespace paritect {
namespace {

void Count(Standing standing, StandingCounts& counts) {
  switch (standing) {
    case Standing::kPass: ++counts.pass; break;
    case Standing::kFail: ++counts.fail; break;
    case Standing::kNotPerformed: ++counts.not_performed; break;
    case Standing::kNotApplicable: ++counts.not_applicable; break;
  }
}

template <typename T>
void AddOnce(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

void AddTextOnce(std::vector<v1::Text>& list, const v1::Text& text) {
  for (const v1::Text& known : list) {
    if (known.en() == text.en()) return;
  }
  list.push_back(text);
}

void AddToGroup(const v1::CheckResult& check, const v1::Missing& missing, MissingGroup& group) {
  group.how = missing.how();
  AddTextOnce(group.what, missing.what());
  if (!missing.from().empty()) AddOnce(group.from, missing.from());
  if (std::find(group.checks.begin(), group.checks.end(), &check) != group.checks.end()) return;
  group.checks.push_back(&check);
  if (check.required()) ++group.required;
}

}  // namespace

Standing StandingOf(const v1::CheckResult& check) {
  if (check.verdict() == v1::VERDICT_FAIL) return Standing::kFail;
  if (check.verdict() != v1::VERDICT_PASS) return Standing::kNotPerformed;
  const bool applies =
      check.has_attested() || std::none_of(check.findings().begin(), check.findings().end(),
                                           [](const auto& finding) { return finding.kind() == "not_applicable"; });
  return applies ? Standing::kPass : Standing::kNotApplicable;
}

Standing StandingOf(const v1::ItemResult& item) {
  if (item.verdict() == v1::VERDICT_FAIL) return Standing::kFail;
  if (item.verdict() != v1::VERDICT_PASS) return Standing::kNotPerformed;
  const bool performed = std::any_of(item.checks().begin(), item.checks().end(),
                                     [](const v1::CheckResult& check) { return StandingOf(check) == Standing::kPass; });
  return performed ? Standing::kPass : Standing::kNotApplicable;
}

StandingCounts CountItems(const v1::Report& report) {
  StandingCounts counts;
  for (const v1::ItemResult& item : report.items()) Count(StandingOf(item), counts);
  return counts;
}

StandingCounts CountChecks(const v1::ItemResult& item) {
  StandingCounts counts;
  for (const v1::CheckResult& check : item.checks()) Count(StandingOf(check), counts);
  return counts;
}

StandingCounts CountChecks(const v1::Report& report) {
  StandingCounts counts;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) Count(StandingOf(check), counts);
  }
  return counts;
}

std::vector<MissingGroup> GroupMissing(const v1::Report& report, const Rules& rules) {
  std::vector<MissingGroup> groups;
  std::map<std::string, std::size_t> by_step;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.has_attested()) continue;  // a person answered
      for (const v1::Missing& missing : check.missing()) {
        const std::string& step = missing.how().en().empty() ? missing.what().en() : missing.how().en();
        const auto [it, is_new] = by_step.try_emplace(step, groups.size());
        if (is_new) groups.emplace_back();
        AddToGroup(check, missing, groups[it->second]);
      }
    }
  }
  const std::string cannot = rules.messages.Fix("check_not_supported").en();
  std::stable_sort(groups.begin(), groups.end(), [&cannot](const MissingGroup& a, const MissingGroup& b) {
    const bool a_last = a.how.en() == cannot;
    const bool b_last = b.how.en() == cannot;
    if (a_last != b_last) return b_last;
    return a.required != b.required ? a.required > b.required : a.checks.size() > b.checks.size();
  });
  return groups;
}

std::string CompressIds(const std::vector<const v1::CheckResult*>& checks) {
  std::vector<std::pair<std::string, std::vector<std::string>>> items;
  for (const v1::CheckResult* check : checks) {
    const auto dot = check->id().rfind('.');
    const std::string item = check->id().substr(0, dot == std::string::npos ? 0 : dot);
    if (items.empty() || items.back().first != item) items.push_back({item, {}});
    items.back().second.push_back(check->id().substr(dot == std::string::npos ? 0 : dot + 1));
  }
  std::vector<std::string> parts;
  for (const auto& [item, names] : items) {
    const std::string joined = absl::StrJoin(names, ", ");
    parts.push_back(names.size() == 1 ? absl::StrCat(item, item.empty() ? "" : ".", joined)
                                      : absl::StrCat(item, ".{", joined, "}"));
  }
  return absl::StrJoin(parts, ", ");
}

FindingClass ClassOf(const v1::Finding& finding) {
  if (finding.severity() == v1::SEVERITY_WARNING) return FindingClass::kWarning;
  if (finding.severity() == v1::SEVERITY_ERROR) {
    return finding.has_waived() ? FindingClass::kWaived : FindingClass::kError;
  }
  return FindingClass::kNote;
}

void ForEachFinding(const v1::Report& report, FindingClass wanted,
                    absl::FunctionRef<void(const v1::CheckResult&, const v1::Finding&)> visit) {
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      for (const v1::Finding& finding : check.findings()) {
        if (ClassOf(finding) == wanted) visit(check, finding);
      }
    }
  }
}

std::string DescribeRuns(const v1::ReportSide& side) {
  return absl::StrJoin(side.runs(), ", ", [](std::string* out, const v1::ReportRun& run) {
    absl::StrAppend(out, run.name());
    if (run.nodes_size() > 0) absl::StrAppend(out, " (", FoldNodeNames({run.nodes().begin(), run.nodes().end()}), ")");
    if (run.role() != "run" && !run.role().empty()) absl::StrAppend(out, " [", run.role(), "]");
  });
}

std::string Word(const Rules& rules, absl::Span<const Language> languages, absl::string_view id,
                 const MessageArgs& args) {
  return InAll(languages, rules.messages.Say(id, args));
}

std::string VerdictName(const Rules& rules, absl::Span<const Language> languages, v1::Verdict verdict) {
  return Word(rules, languages, absl::StrCat("verdict_", VerdictWord(verdict)));
}

std::string StandingName(const Rules& rules, absl::Span<const Language> languages, Standing standing) {
  switch (standing) {
    case Standing::kPass: return VerdictName(rules, languages, v1::VERDICT_PASS);
    case Standing::kFail: return VerdictName(rules, languages, v1::VERDICT_FAIL);
    case Standing::kNotPerformed: return VerdictName(rules, languages, v1::VERDICT_NOT_PERFORMED);
    case Standing::kNotApplicable: break;
  }
  return Word(rules, languages, "verdict_not_applicable");
}

std::string CountsSentence(const Rules& rules, absl::Span<const Language> languages, const StandingCounts& counts) {
  return Word(rules, languages, counts.not_applicable > 0 ? "ui_counts/not_applicable" : "ui_counts",
              {{"pass", absl::StrCat(counts.pass)},
               {"fail", absl::StrCat(counts.fail)},
               {"not_performed", absl::StrCat(counts.not_performed)},
               {"not_applicable", absl::StrCat(counts.not_applicable)}});
}

std::string VerdictLine(const Rules& rules, absl::Span<const Language> languages, const v1::Report& report) {
  std::vector<std::string> lines;
  for (const Language& language : languages) {
    const absl::Span<const Language> one(&language, 1);
    lines.push_back(Word(rules, one, "ui_verdict_line",
                         {{"verdict", VerdictName(rules, one, report.verdict())},
                          {"items", CountsSentence(rules, one, CountItems(report))},
                          {"checks", CountsSentence(rules, one, CountChecks(report))}}));
  }
  return absl::StrJoin(lines, " / ");
}

}  // namespace paritect
