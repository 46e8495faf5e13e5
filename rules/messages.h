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
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
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

// An entry of the catalogue; one of a prepared file is read when it is first asked for, by any thread.
class MessageEntry {
 public:
  explicit MessageEntry(Message message) : message_(std::move(message)) {}
  MessageEntry(std::shared_ptr<const std::string> file, absl::string_view node) : file_(std::move(file)), node_(node) {}

  const Message& message() const;

 private:
  std::shared_ptr<const std::string> file_;  // that holds the node
  absl::string_view node_;
  mutable absl::once_flag read_;
  mutable Message message_;
};

class Messages {
 public:
  // Adds the entries of one file. InvalidArgument with "LINE:COLUMN: ..." for an entry that is not
  // of the form above; an id that is there already is replaced when `replace`, else refused.
  absl::Status Add(const DocumentNode& root, bool replace);
  // The same of a prepared file, whose entries are not looked at before they are said: a start would pay for all of
  // them. Their form was proved when the program was built (a test reads them); one that has another says nothing.
  absl::Status AddPrepared(std::string bytes);

  bool Has(absl::string_view id) const;
  // Fills the placeholders; an unknown id gives the id itself, an unfilled placeholder stays visible:
  // a wrong catalogue never costs a verdict.
  v1::Text Say(absl::string_view id, const MessageArgs& args = {}) const;
  // The `fix` of the entry, empty if it has none.
  v1::Text Fix(absl::string_view id, const MessageArgs& args = {}) const;

  using Entries = std::map<std::string, std::shared_ptr<const MessageEntry>, std::less<>>;
  const Entries& all() const { return messages_; }

 private:
  Entries messages_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_MESSAGES_H_
