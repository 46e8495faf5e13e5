// The message catalogue: every text of the product in English and Chinese, by id.
//
// An entry of rules/data/messages/*.yaml:
//   truncated:            # the id; a finding's kind is the part before '/'
//     en: "cut off at byte {at} of {size}"
//     zh: "在第 {at} 字节处被截断（共 {size}）"
//     fix: {en: "copy it again", zh: "重新复制"}     # optional: remedy, or how to get what is missing
// Placeholders are {name}; the same names must stand in both languages (checked when loaded).
#ifndef PARITECT_RULES_MESSAGES_H_
#define PARITECT_RULES_MESSAGES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// Named values for the placeholders of a message.
using MessageArgs = std::vector<std::pair<std::string, std::string>>;

struct Message {
  v1::Text text;
  v1::Text fix;  // empty where the entry has none
};

class Messages {
 public:
  // Adds the entries of one file. InvalidArgument with "LINE:COLUMN: ..." for an entry that is not
  // of the form above; an id that is there already is replaced when `replace`, else refused.
  absl::Status Add(const DocumentNode& root, bool replace);

  bool Has(absl::string_view id) const;
  // Fills the placeholders; an unknown id gives the id itself, an unfilled placeholder stays visible:
  // a wrong catalogue never costs a verdict.
  v1::Text Say(absl::string_view id, const MessageArgs& args = {}) const;
  // The `fix` of the entry, empty if it has none.
  v1::Text Fix(absl::string_view id, const MessageArgs& args = {}) const;

  const std::map<std::string, Message>& all() const { return messages_; }

 private:
  std::map<std::string, Message> messages_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_MESSAGES_H_
