// The repository as the house rules see it: every source file with its text, and C++ with the noise taken away.
#ifndef PARITECT_TESTS_TIDY_SOURCE_TREE_H_
#define PARITECT_TESTS_TIDY_SOURCE_TREE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect::tidy {

struct SourceFile {
  std::string path;  // relative to the repository's root
  std::string text;
};

// Every file of the repository but build/, .git/ and fuzz corpora, sorted by path. Read once.
const std::vector<SourceFile>& AllFiles();

// The text of one file; empty where it is not there.
const std::string& TextOf(absl::string_view path);

bool IsCpp(const SourceFile& file);             // .cc and .h
bool IsTest(const SourceFile& file);            // *_test.cc and everything below tests/ and bench/
std::string TopFolder(absl::string_view path);  // "checks/x.cc" -> "checks"; "" for a file at the top

// The C++ text with comments, and the inside of string and character literals, turned into blanks. Line
// ends stay where they are.
std::string CodeOnly(absl::string_view text);

// The same with string literals kept: what a search for literals works on.
std::string WithoutComments(absl::string_view text);

struct Function {
  std::string name;  // the signature's last line before the brace
  int line = 0;      // of the opening brace, 1-based
  int lines = 0;     // from the opening to the closing brace, both counted
};

// Function bodies at namespace or class level of a C++ text.
std::vector<Function> FunctionsOf(absl::string_view text);

}  // namespace paritect::tidy

#endif  // PARITECT_TESTS_TIDY_SOURCE_TREE_H_
