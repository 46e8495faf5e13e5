#include "rules/contradictions.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

bool Fits(absl::string_view pattern, absl::string_view check) {
  if (absl::ConsumePrefix(&pattern, "*")) return absl::EndsWith(check, pattern);
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(check, pattern);
  return pattern == check;
}

absl::Status ReadKind(const DocumentNode& node, ContradictionRules& rules) {
  std::string name, severity;
  ContradictionRules::Kind kind;
  PARITECT_RETURN_IF_ERROR(ReadMap(node, "a kind",
                                   {{{"kind", [&](const DocumentNode& v) { return ReadText(v, "kind", name); }},
                                     {"part", [&](const DocumentNode& v) { return ReadText(v, "part", kind.part); }},
                                     {"severity", [&](const DocumentNode& v) {
                                        return ReadWord(v, "severity", {"error", "warning"}, severity);
                                      }}}}));
  if (name.empty() || kind.part.empty() || severity.empty()) {
    return ErrorAt(node, "a kind needs `kind`, `part` and `severity`");
  }
  kind.error = severity == "error";
  rules.kinds[name] = kind;
  return absl::OkStatus();
}

absl::Status ReadPart(const DocumentNode& node, ContradictionRules& rules) {
  std::string part;
  google::protobuf::RepeatedPtrField<std::string> checks;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "a part",
              {{{"part", [&](const DocumentNode& v) { return ReadText(v, "part", part); }},
                {"checks", [&](const DocumentNode& v) { return ReadTexts(v, "checks", checks); }}}}));
  if (part.empty() || checks.empty()) return ErrorAt(node, "a part needs `part` and `checks`");
  rules.checks[part].assign(checks.begin(), checks.end());
  return absl::OkStatus();
}

}  // namespace

std::string ContradictionRules::PartOf(absl::string_view kind) const {
  const auto found = kinds.find(kind);
  return found == kinds.end() ? "" : found->second.part;
}

bool ContradictionRules::Rests(absl::string_view check, absl::string_view part) const {
  const auto found = checks.find(part);
  if (found == checks.end()) return true;
  return std::any_of(found->second.begin(), found->second.end(),
                     [&](const std::string& pattern) { return Fits(pattern, check); });
}

absl::StatusOr<ContradictionRules> ReadContradictions(const DocumentNode& root) {
  ContradictionRules rules;
  const auto kind = [&](const DocumentNode& one) { return ReadKind(one, rules); };
  const auto part = [&](const DocumentNode& one) { return ReadPart(one, rules); };
  PARITECT_RETURN_IF_ERROR(ReadMap(root, "the file",
                                   {{{"kinds", [&](const DocumentNode& v) { return ReadList(v, "kinds", kind); }},
                                     {"parts", [&](const DocumentNode& v) { return ReadList(v, "parts", part); }}}}));
  for (const auto& [name, one] : rules.kinds) {
    if (!rules.checks.contains(one.part)) {
      return absl::InvalidArgumentError(absl::StrCat("1:1: the part '", one.part, "' of '", name, "' has no checks"));
    }
  }
  return rules;
}

const ContradictionRules& BuiltInContradictions() {
  static const ContradictionRules* const rules = [] {
    auto* const result = new ContradictionRules();
    // LoadRules has refused a file that is not of its form.
    auto root = ReadRulesDocument(BytesOfRules("contradictions.yaml"));
    if (root.ok()) *result = ReadContradictions(*root).value_or(ContradictionRules());
    return result;
  }();
  return *rules;
}

}  // namespace paritect
