#include "rules/causes.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"
#include "rules/read_text.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

FindingPattern ParsePattern(absl::string_view text) {
  FindingPattern pattern;
  const auto colon = text.find(':');
  if (colon != absl::string_view::npos) {
    absl::string_view kinds = text.substr(colon + 1);
    pattern.not_kinds = absl::ConsumePrefix(&kinds, "!");
    pattern.kinds = absl::StrSplit(kinds, '|');
  }
  absl::string_view check = text.substr(0, colon);
  pattern.prefix = absl::ConsumeSuffix(&check, "*");
  pattern.check = std::string(check);
  return pattern;
}

// `stages`: those that "@STAGE" may name.
absl::Status ReadPatterns(const DocumentNode& node, const std::vector<CauseStage>& stages,
                          std::vector<FindingPattern>& patterns) {
  return ReadList(node, "a list of checks", [&](const DocumentNode& one) -> absl::Status {
    if (!one.is_scalar() || one.text.empty()) return ErrorAt(one, "a check must be a text");
    if (one.text[0] != '@') {
      patterns.push_back(ParsePattern(one.text));
      return absl::OkStatus();
    }
    for (const CauseStage& stage : stages) {
      if (stage.id != one.text.substr(1)) continue;
      patterns.insert(patterns.end(), stage.checks.begin(), stage.checks.end());
      return absl::OkStatus();
    }
    return ErrorAt(one, absl::StrCat("there is no stage '", one.text.substr(1), "'"));
  });
}

absl::Status ReadStage(const DocumentNode& node, std::vector<CauseStage>& stages) {
  CauseStage stage;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "a stage",
              {{{"id", [&](const DocumentNode& v) { return ReadText(v, "id", stage.id); }},
                {"title", [&](const DocumentNode& v) { return ReadBothLanguages(v, stage.title); }},
                {"checks", [&](const DocumentNode& v) { return ReadPatterns(v, {}, stage.checks); }}}}));
  if (stage.id.empty() || stage.title.en().empty() || stage.checks.empty()) {
    return ErrorAt(node, "a stage needs `id`, `title` and `checks`");
  }
  stages.push_back(std::move(stage));
  return absl::OkStatus();
}

absl::Status ReadSame(const DocumentNode& node, Explanation::Same& same) {
  std::string word;
  PARITECT_RETURN_IF_ERROR(ReadWord(node, "same", {"subject", "kind"}, word));
  same = word == "kind" ? Explanation::Same::kKind : Explanation::Same::kSubject;
  return absl::OkStatus();
}

absl::Status ReadSince(const DocumentNode& node, Explanation::Since& since) {
  std::string word;
  PARITECT_RETURN_IF_ERROR(ReadWord(node, "since", {"not-later", "earlier"}, word));
  since = word == "earlier" ? Explanation::Since::kEarlier : Explanation::Since::kNotLater;
  return absl::OkStatus();
}

absl::Status ReadExplanation(const DocumentNode& node, CauseRules& rules) {
  Explanation one;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "an explanation",
              {{{"effect", [&](const DocumentNode& v) { return ReadPatterns(v, rules.stages, one.effects); }},
                {"cause", [&](const DocumentNode& v) { return ReadPatterns(v, rules.stages, one.causes); }},
                {"same", [&](const DocumentNode& v) { return ReadSame(v, one.same); }},
                {"since", [&](const DocumentNode& v) { return ReadSince(v, one.since); }},
                {"subject", [&](const DocumentNode& v) { return ReadText(v, "subject", one.subject_prefix); }},
                {"of", [&](const DocumentNode& v) { return ReadText(v, "of", one.effect_prefix); }},
                {"because", [&](const DocumentNode& v) { return ReadBothLanguages(v, one.because); }}}}));
  if (one.effects.empty() || one.causes.empty() || one.because.en().empty()) {
    return ErrorAt(node, "an explanation needs `effect`, `cause` and `because`");
  }
  rules.explanations.push_back(std::move(one));
  return absl::OkStatus();
}

}  // namespace

bool FindingPattern::MatchesCheck(absl::string_view id) const {
  return prefix ? absl::StartsWith(id, check) : id == check;
}

bool FindingPattern::Matches(absl::string_view id, absl::string_view finding_kind) const {
  if (!MatchesCheck(id)) return false;
  return kinds.empty() || (std::find(kinds.begin(), kinds.end(), finding_kind) != kinds.end()) != not_kinds;
}

std::size_t CauseRules::StageOf(absl::string_view check) const {
  const auto holds = [check](const CauseStage& stage) {
    return std::any_of(stage.checks.begin(), stage.checks.end(),
                       [check](const FindingPattern& pattern) { return pattern.MatchesCheck(check); });
  };
  return static_cast<std::size_t>(std::find_if(stages.begin(), stages.end(), holds) - stages.begin());
}

absl::StatusOr<CauseRules> ReadCauses(const DocumentNode& root) {
  CauseRules rules;
  const auto stage = [&](const DocumentNode& one) { return ReadStage(one, rules.stages); };
  const auto explanation = [&](const DocumentNode& one) { return ReadExplanation(one, rules); };
  // An explanation names stages: they are read first, wherever they stand.
  if (const DocumentNode* stages = root.Find("stages"); stages != nullptr) {
    PARITECT_RETURN_IF_ERROR(ReadList(*stages, "stages", stage));
  }
  PARITECT_RETURN_IF_ERROR(
      ReadMap(root, "the file",
              {{{"stages", [](const DocumentNode&) { return absl::OkStatus(); }},
                {"explains", [&](const DocumentNode& v) { return ReadList(v, "explains", explanation); }}}}));
  return rules;
}

const CauseRules& BuiltInCauses() {
  static const CauseRules* const rules = [] {
    auto* const result = new CauseRules();
    // LoadRules has refused a file that is not of its form.
    auto root = ReadRulesDocument(BytesOfRules("causes.yaml"));
    if (root.ok()) *result = ReadCauses(*root).value_or(CauseRules());
    return result;
  }();
  return *rules;
}

}  // namespace paritect
