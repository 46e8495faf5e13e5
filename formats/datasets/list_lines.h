// The lines of lists that programs print for people: what stands around the records, and whether the list is whole.
#ifndef PARITECT_FORMATS_DATASETS_LIST_LINES_H_
#define PARITECT_FORMATS_DATASETS_LIST_LINES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/datasets/manifest_builder.h"
#include "rules/list_words.h"

namespace paritect {

// A line around the records: empty, a comment, a rule of dashes, or one of the known remarks of tools.
bool IsListRemark(absl::string_view line);

// A table's header: two words of columns at least, and no word that could be a name.
bool IsListHeader(absl::string_view line);

// What a list says of its own whole: more follows, so many files, and the line with which it ends.
class ListWhole {
 public:
  void See(const TextLine& line);
  // Says what is wrong: the end that should be there, another count than that of the records, more that follows.
  void Finish(std::size_t records, ManifestBuilder& sink) const;

 private:
  const ListFrame* frame_ = nullptr;
  bool ended_ = false;
  std::optional<std::uint64_t> count_;
  TextLine last_;
  std::optional<TextLine> more_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_LIST_LINES_H_
