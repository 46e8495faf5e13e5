#include "rules/contradictions.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
  google::protobuf::RepeatedPtrField<std::string> parts;
  PARITECT_RETURN_IF_ERROR(ReadMap(node, "a kind",
                                   {{{"kind", [&](const DocumentNode& v) { return ReadText(v, "kind", name); }},
                                     {"parts", [&](const DocumentNode& v) { return ReadTexts(v, "parts", parts); }},
                                     {"severity", [&](const DocumentNode& v) {
                                        return ReadWord(v, "severity", {"error", "warning"}, severity);
                                      }}}}));
  if (name.empty() || parts.empty() || severity.empty()) {
    return ErrorAt(node, "a kind needs `kind`, `parts` and `severity`");
  }
  rules.kinds[name] = {{parts.begin(), parts.end()}, severity == "error"};
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

std::vector<std::string> ContradictionRules::PartsOf(absl::string_view kind) const {
  const auto found = kinds.find(kind);
  return found == kinds.end() ? std::vector<std::string>() : found->second.parts;
}

bool ContradictionRules::Rests(absl::string_view check, absl::string_view parts) const {
  for (const absl::string_view part : absl::StrSplit(parts, ',')) {
    const auto found = checks.find(part);
    if (found == checks.end()) return true;
    for (const std::string& pattern : found->second) {
      if (Fits(pattern, check)) return true;
    }
  }
  return false;
}

absl::StatusOr<ContradictionRules> ReadContradictions(const DocumentNode& root) {
  ContradictionRules rules;
  const auto kind = [&](const DocumentNode& one) { return ReadKind(one, rules); };
  const auto part = [&](const DocumentNode& one) { return ReadPart(one, rules); };
  PARITECT_RETURN_IF_ERROR(ReadMap(root, "the file",
                                   {{{"kinds", [&](const DocumentNode& v) { return ReadList(v, "kinds", kind); }},
                                     {"parts", [&](const DocumentNode& v) { return ReadList(v, "parts", part); }}}}));
  for (const auto& [name, one] : rules.kinds) {
    for (const std::string& taken : one.parts) {
      if (rules.checks.contains(taken)) continue;
      return absl::InvalidArgumentError(absl::StrCat("1:1: the part '", taken, "' of '", name, "' has no checks"));
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
