// The list of log formats in the manual is the list that the product has.
#include <set>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
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

TEST(TidyLogs, TheManualListsEveryFormat) {
  EXPECT_GE(FormatsOfReaders().size(), 25u);
  EXPECT_EQ(FormatsOfReaders(), FormatsOfManual());
}

}  // namespace
}  // namespace paritect::tidy
