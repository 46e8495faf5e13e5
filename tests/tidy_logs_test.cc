// The list of log formats in the manual is the list that the product has.
#include <set>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "tests/tidy/source_tree.h"

namespace paritect::tidy {
namespace {

std::set<std::string> FormatsOfReaders() {
  static const std::string kBefore = "LogFormat = {\"";
  std::set<std::string> names;
  for (const SourceFile& file : AllFiles()) {
    if (!absl::StartsWith(file.path, "formats/logs/") || IsTest(file)) continue;
    for (std::size_t at = file.text.find(kBefore); at != std::string::npos; at = file.text.find(kBefore, at + 1)) {
      const std::size_t begin = at + kBefore.size();
      names.insert(file.text.substr(begin, file.text.find('"', begin) - begin));
    }
  }
  return names;
}

// Rows of the table: "| `name` |".
std::set<std::string> FormatsOfManual() {
  static const std::string kBefore = "\n| `";
  const std::string& text = TextOf("docs/log-formats.md");
  std::set<std::string> names;
  for (std::size_t at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at + 1)) {
    const std::size_t begin = at + kBefore.size();
    names.insert(text.substr(begin, text.find('`', begin) - begin));
  }
  return names;
}

TEST(TidyLogs, FactsAreOfFormatsThatThereAre) {
  static const re2::RE2 kRow("format: ([a-z0-9-]+)");
  re2::StringPiece rest(TextOf("rules/data/log_formats.yaml"));
  std::string name;
  int rows = 0;
  for (; re2::RE2::FindAndConsume(&rest, kRow, &name); ++rows) {
    // What the observer records becomes a log of its own, without a reader of text.
    EXPECT_TRUE(name == "observed" || FormatsOfReaders().contains(name))
        << name << " of rules/data/log_formats.yaml is no log format";
  }
  EXPECT_GT(rows, 5);
}

TEST(TidyLogs, TheManualListsEveryFormat) {
  EXPECT_GE(FormatsOfReaders().size(), 25u);
  EXPECT_EQ(FormatsOfReaders(), FormatsOfManual());
}

}  // namespace
}  // namespace paritect::tidy
