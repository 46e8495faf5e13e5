#include "rules/phrases.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/read_text.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

constexpr int kDepthMax = 3;  // a phrase within a phrase within a phrase

re2::StringPiece Piece(absl::string_view text) {
  return {text.data(), text.size()};
}

const RE2& Placeholder() {
  static const RE2& placeholder = *new RE2(R"(\{([a-z_]+)\})");
  return placeholder;
}

std::vector<std::string> NamesOf(const std::string& text) {
  std::vector<std::string> names;
  re2::StringPiece rest(text);
  std::string name;
  while (RE2::FindAndConsume(&rest, Placeholder(), &name)) names.push_back(name);
  return names;
}

std::string PatternOf(const std::string& english) {
  static const RE2& number = *new RE2(R"(\\\{number[a-z_]*\\\})");
  static const RE2& quoted = *new RE2(R"(\\\{[a-z_]+\\\})");
  std::string pattern = RE2::QuoteMeta(english);
  RE2::GlobalReplace(&pattern, number, "([0-9].*?)");
  RE2::GlobalReplace(&pattern, quoted, "(.*?)");
  return absl::StrCat("(?s)", pattern);
}

// Embedded files are of their form (a test proves it), and overrides were checked at the start.
const Phrases* Load(absl::string_view name) {
  auto* const result = new Phrases();
  auto root = ReadRulesDocument(BytesOfRules(name));
  if (!root.ok()) return result;
  auto read = Phrases::Read(*root);
  if (read.ok()) *result = *std::move(read);
  return result;
}

}  // namespace

absl::StatusOr<Phrases> Phrases::Read(const DocumentNode& root) {
  Phrases phrases;
  const auto entry = [&phrases](const DocumentNode& node) -> absl::Status {
    v1::Text text;
    PARITECT_RETURN_IF_ERROR(ReadBothLanguages(node, text));
    phrases.texts_.push_back(text);
    Phrase phrase;
    phrase.names = NamesOf(text.en());
    if (phrase.names.empty()) {
      phrases.exact_.emplace(text.en(), text.zh());
      return absl::OkStatus();
    }
    const std::vector<std::string> chinese_names = NamesOf(text.zh());
    if (std::set<std::string>(phrase.names.begin(), phrase.names.end()) !=
        std::set<std::string>(chinese_names.begin(), chinese_names.end())) {
      return ErrorAt(node, "`en` and `zh` have other placeholders");
    }
    std::string literal = text.en();
    RE2::GlobalReplace(&literal, Placeholder(), "");
    phrase.literal = literal.size();
    phrase.english = std::make_unique<RE2>(PatternOf(text.en()));
    phrase.chinese = text.zh();
    phrases.phrases_.push_back(std::move(phrase));
    return absl::OkStatus();
  };
  PARITECT_RETURN_IF_ERROR(
      ReadMap(root, "the file", {{{"phrases", [&](const DocumentNode& v) { return ReadList(v, "phrases", entry); }}}}));
  return phrases;
}

std::string Phrases::InChinese(absl::string_view english) const {
  return Translate(english, 0);
}

std::string Phrases::Translate(absl::string_view english, int depth) const {
  if (const auto exact = exact_.find(english); exact != exact_.end()) return exact->second;
  const Phrase* best = nullptr;
  for (const Phrase& phrase : phrases_) {
    if (best != nullptr && phrase.literal <= best->literal) continue;
    if (RE2::FullMatch(Piece(english), *phrase.english)) best = &phrase;
  }
  if (best == nullptr) return std::string(english);
  const std::size_t count = best->names.size();
  std::vector<re2::StringPiece> values(count + 1);
  best->english->Match(Piece(english), 0, english.size(), RE2::ANCHOR_BOTH, values.data(),
                       static_cast<int>(values.size()));
  std::vector<std::pair<std::string, std::string>> replacements;
  for (std::size_t i = 0; i < count; ++i) {
    const absl::string_view value(values[i + 1].data(), values[i + 1].size());
    // A single word is somebody's name: a key, a file, a node.
    const bool phrase = depth < kDepthMax && absl::StrContains(value, ' ');
    replacements.emplace_back(absl::StrCat("{", best->names[i], "}"),
                              phrase ? Translate(value, depth + 1) : std::string(value));
  }
  return absl::StrReplaceAll(best->chinese, replacements);
}

const Phrases& BuiltInPhrases() {
  static const Phrases& phrases = *Load("phrases.yaml");
  return phrases;
}

const Phrases& BuiltInValuePhrases() {
  static const Phrases& phrases = *Load("value_phrases.yaml");
  return phrases;
}

}  // namespace paritect
