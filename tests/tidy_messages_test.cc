// Every message id that the code names is in rules/data/messages, and every entry there is of use.
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "rules/rules.h"
#include "tests/tidy/source_tree.h"

namespace paritect::tidy {
namespace {

bool IsProductCode(const SourceFile& file) {
  static const std::set<std::string> kFolders = {"agent",   "checks", "client", "common",
                                                 "formats", "report", "rules",  "server"};
  return IsCpp(file) && !IsTest(file) && kFolders.contains(TopFolder(file.path));
}

// String literals of a text without comments.
std::set<std::string> Literals(absl::string_view text) {
  static const re2::RE2 kLiteral("\"((?:[^\"\\\\\\n]|\\\\.)*)\"");
  std::set<std::string> found;
  re2::StringPiece rest(text.data(), text.size());
  std::string literal;
  while (re2::RE2::FindAndConsume(&rest, kLiteral, &literal)) found.insert(literal);
  return found;
}

// The arguments of a call, given the text after its opening parenthesis.
std::vector<absl::string_view> Arguments(absl::string_view text) {
  std::vector<absl::string_view> arguments;
  int depth = 0;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quoted) {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      continue;
    } else if (c == '(' || c == '{' || c == '[') {
      ++depth;
    } else if (c == ',' && depth == 0) {
      arguments.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if ((c == ')' || c == '}' || c == ']') && depth-- == 0) {
      arguments.push_back(text.substr(begin, i - begin));
      return arguments;
    }
  }
  return arguments;
}

// Calls that take a message id, and which argument it is. AddMissing and ProblemEvidence have a second form without
// an id: theirs hold no literal there.
const std::map<std::string, std::size_t>& IdArgument() {
  static const auto* const table = new std::map<std::string, std::size_t>{
      {"AddFinding", 3}, {"AddError", 2},        {"AddWarning", 2}, {"AddNote", 2},
      {"AddMissing", 2}, {"ProblemEvidence", 3}, {"Say", 0},        {"Fix", 0}};
  return *table;
}

// A literal names entries when it is an id, or the beginning of one that the code completes ("verdict_").
bool NamesAMessage(const std::string& literal, const Messages::Entries& messages) {
  if (messages.contains(literal)) return true;
  if (!absl::EndsWith(literal, "_") && !absl::EndsWith(literal, "/")) return false;
  const auto next = messages.lower_bound(literal);
  return next != messages.end() && absl::StartsWith(next->first, literal);
}

TEST(TidyMessages, EveryIdInTheCodeIsInTheCatalogue) {
  static const re2::RE2 kCall("\\b(AddFinding|AddError|AddWarning|AddNote|AddMissing|ProblemEvidence|Say|Fix)\\(");
  static const re2::RE2 kId("[a-z0-9_/]+");
  const auto& messages = BuiltInRules().messages.all();
  for (const SourceFile& file : AllFiles()) {
    if (!IsProductCode(file)) continue;
    const std::string code = WithoutComments(file.text);
    re2::StringPiece rest(code);
    std::string call;
    while (re2::RE2::FindAndConsume(&rest, kCall, &call)) {
      const auto arguments = Arguments(absl::string_view(rest.data(), rest.size()));
      const std::size_t index = IdArgument().at(call);
      if (index >= arguments.size()) continue;
      for (const std::string& literal : Literals(arguments[index])) {
        if (!re2::RE2::FullMatch(literal, kId) || literal.size() < 3) continue;
        EXPECT_TRUE(NamesAMessage(literal, messages)) << file.path << ": " << call << "(\"" << literal << "\")";
      }
    }
  }
}

// A literal says the id, or its beginning ("fake_" + kind), or an id that is used and its last part ("/baseline").
bool IsSaid(const std::set<std::string>& literals, absl::string_view data, const std::string& id) {
  if (literals.contains(id) || absl::StrContains(data, absl::StrCat(": ", id))) return true;
  for (std::size_t end = 1; end < id.size(); ++end) {
    if ((id[end - 1] == '_' || id[end - 1] == '/') && literals.contains(id.substr(0, end))) return true;
  }
  const std::size_t slash = id.rfind('/');
  return slash != std::string::npos && literals.contains(id.substr(slash)) &&
         IsSaid(literals, data, id.substr(0, slash));
}

TEST(TidyMessages, EveryEntryIsUsed) {
  std::set<std::string> literals;
  for (const SourceFile& file : AllFiles()) {
    if (IsProductCode(file)) literals.merge(Literals(WithoutComments(file.text)));
  }
  // Ids that rules name (a rule file may say which message a match gives).
  std::string data;
  for (const SourceFile& file : AllFiles()) {
    if (absl::StartsWith(file.path, "rules/data/") && !absl::StartsWith(file.path, "rules/data/messages/")) {
      absl::StrAppend(&data, file.text);
    }
  }
  for (const auto& [id, message] : BuiltInRules().messages.all()) {
    EXPECT_TRUE(IsSaid(literals, data, id)) << "rules/data/messages: nothing says " << id;
  }
}

// Words that a program shows beside findings, by where they are written: notes of readers and collectors, events of a
// followed run, marks of `diff`.
std::set<std::string> ShownWords(const SourceFile& file) {
  static const re2::RE2 kNote("\\b(?:AddNote|Note|set_kind)\\(\\s*\"([a-z_]+)\"");
  static const re2::RE2 kEvent("(?:NewEvent\\([a-z>-]+, |tell\\(|push_back\\(\\{|return \\{)\"([a-z_]+)\"");
  static const re2::RE2 kMark("return \"([a-z_]+)\"");
  const re2::RE2* pattern = nullptr;
  if (TopFolder(file.path) == "formats" || TopFolder(file.path) == "agent") pattern = &kNote;
  if (absl::StartsWith(file.path, "server/live") || file.path == "checks/runs/live_comparison.cc") pattern = &kEvent;
  if (absl::StartsWith(file.path, "client/diff/")) pattern = &kMark;
  std::set<std::string> words;
  if (pattern == nullptr) return words;
  const std::string code = WithoutComments(file.text);
  re2::StringPiece rest(code);
  std::string word;
  while (re2::RE2::FindAndConsume(&rest, *pattern, &word)) words.insert(word);
  return words;
}

TEST(TidyMessages, EveryWordShownCanBeExplained) {
  std::set<std::string> kinds;
  for (const auto& [id, message] : BuiltInRules().messages.all()) {
    kinds.insert(id.substr(0, id.find('/')));
    if (absl::StartsWith(id, "word_")) kinds.insert(id.substr(5));
  }
  std::size_t seen = 0;
  for (const SourceFile& file : AllFiles()) {
    if (!IsProductCode(file)) continue;
    for (const std::string& word : ShownWords(file)) {
      ++seen;
      EXPECT_TRUE(kinds.contains(word)) << file.path << ": `paritect explain " << word << "` would know nothing";
    }
  }
  EXPECT_GT(seen, 40u);
}

TEST(TidyMessages, EveryFindingThatFailsSaysWhatToDo) {
  static const re2::RE2 kError("\\bAddError\\(");
  const auto& messages = BuiltInRules().messages.all();
  for (const SourceFile& file : AllFiles()) {
    if (!IsProductCode(file)) continue;
    const std::string code = WithoutComments(file.text);
    re2::StringPiece rest(code);
    while (re2::RE2::FindAndConsume(&rest, kError)) {
      const auto arguments = Arguments(absl::string_view(rest.data(), rest.size()));
      if (arguments.size() < 3) continue;
      for (const std::string& literal : Literals(arguments[2])) {
        const auto entry = messages.find(literal);
        if (entry == messages.end()) continue;
        EXPECT_FALSE(entry->second->message().fix.en().empty()) << file.path << ": error \"" << literal << "\" has no fix";
      }
    }
  }
}

}  // namespace
}  // namespace paritect::tidy
