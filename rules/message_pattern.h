// Which message of the catalogue a text was made from: what a report says, traced back to its id.
#ifndef PARITECT_RULES_MESSAGE_PATTERN_H_
#define PARITECT_RULES_MESSAGE_PATTERN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "rules/messages.h"

namespace paritect {

// A message with some of its placeholders filled; the others stand for anything. A report carries texts and no ids, so
// that it can be read by whoever has the text alone; English decides.
class MessagePattern {
 public:
  MessagePattern(const Messages& messages, absl::string_view id, const MessageArgs& args);

  // Whether `text` and `fix` can be this message and its remedy.
  bool Matches(absl::string_view text, absl::string_view fix) const;

 private:
  std::vector<std::string> text_;  // what stands between the placeholders, each of which may be anything
  std::vector<std::string> fix_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_MESSAGE_PATTERN_H_
