// Words of file lists: columns and keys, lines around the records. Data: rules/data/list_words.yaml.
#ifndef PARITECT_RULES_LIST_WORDS_H_
#define PARITECT_RULES_LIST_WORDS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

enum class ListColumn {
  kOther,
  kPath,
  kName,
  kFolder,
  kUrl,
  kPathBase64,
  kDigest,
  kEtag,
  kSha256,
  kSize,
  kRecords,
  kAlgorithm,
  kKind
};

struct ListFrame {
  std::string begins;  // stands in a line of the head
  std::string ends;    // begins a line at the end
};

struct ListWords {
  std::map<std::string, ListColumn, std::less<>> columns;  // as PlainListWord gives them
  std::vector<std::string> titles;                         // with {name}, perhaps {algorithm}
  std::vector<std::string> remarks;                        // beginnings of lines
  std::vector<std::string> more;
  std::vector<ListFrame> frames;
};

// ASCII in lower case, without blanks, "_", "-", ":", quotes and brackets (also those of Chinese).
std::string PlainListWord(absl::string_view word);

// What a header's word or a key stands for.
ListColumn ListColumnOf(absl::string_view word);

// InvalidArgument "LINE:COLUMN: ..." for an unknown key or column, or a value of another form.
absl::StatusOr<ListWords> ReadListWords(const DocumentNode& root);

// The embedded ones, loaded once.
const ListWords& BuiltInListWords();

}  // namespace paritect

#endif  // PARITECT_RULES_LIST_WORDS_H_
