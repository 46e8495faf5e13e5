#include "rules/openings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/read_text.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

// "ID", "ID*" or "ID NAME=VALUE …".
absl::Status ReadAnswer(const DocumentNode& node, Opening& opening) {
  if (!node.is_scalar() || node.text.empty()) return ErrorAt(node, "a message must be a text");
  AnsweredMessage& answer = opening.answers.emplace_back();
  const std::vector<std::string> words = absl::StrSplit(node.text, ' ', absl::SkipEmpty());
  absl::string_view id = words[0];
  answer.prefix = absl::ConsumeSuffix(&id, "*");
  answer.id = std::string(id);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos) return ErrorAt(node, absl::StrCat("'", words[i], "' is not NAME=VALUE"));
    answer.args.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
  }
  return absl::OkStatus();
}

absl::Status ReadOpening(const DocumentNode& node, std::vector<Opening>& openings) {
  Opening one;
  const auto answer = [&](const DocumentNode& v) { return ReadAnswer(v, one); };
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "an opening",
              {{{"id", [&](const DocumentNode& v) { return ReadText(v, "id", one.id); }},
                {"do", [&](const DocumentNode& v) { return ReadBothLanguages(v, one.action); }},
                {"never", [&](const DocumentNode& v) { return ReadBool(v, "never", one.never); }},
                {"answers", [&](const DocumentNode& v) { return ReadList(v, "answers", answer); }}}}));
  if (one.id.empty() || one.action.en().empty() || one.answers.empty()) {
    return ErrorAt(node, "an opening needs `id`, `do` and `answers`");
  }
  openings.push_back(std::move(one));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Opening>> ReadOpenings(const DocumentNode& root) {
  std::vector<Opening> openings;
  const auto opening = [&](const DocumentNode& one) { return ReadOpening(one, openings); };
  PARITECT_RETURN_IF_ERROR(ReadMap(
      root, "the file", {{{"openings", [&](const DocumentNode& v) { return ReadList(v, "openings", opening); }}}}));
  return openings;
}

const std::vector<Opening>& BuiltInOpenings() {
  static const std::vector<Opening>* const openings = [] {
    auto* const result = new std::vector<Opening>();
    // LoadRules has refused a file that is not of its form.
    auto root = ParseDocument(BytesOfRules("openings.yaml"));
    if (root.ok()) *result = ReadOpenings(*root).value_or(std::vector<Opening>());
    return result;
  }();
  return *openings;
}

}  // namespace paritect
