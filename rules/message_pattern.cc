#include "rules/message_pattern.h"

#include "absl/strings/strip.h"

namespace paritect {
namespace {

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// How long the placeholder is that begins with `text`, "{name}" or "{name|one|many}"; 0: none does.
std::size_t PlaceholderBytes(absl::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && IsNameByte(text[end])) ++end;
  if (end == 1 || end == text.size()) return 0;
  if (text[end] == '|') end = text.find_first_of("{}", end);
  return end < text.size() && text[end] == '}' ? end + 1 : 0;
}

std::vector<std::string> PiecesOf(absl::string_view filled) {
  std::vector<std::string> pieces(1);
  while (!filled.empty()) {
    const std::size_t bytes = filled[0] == '{' ? PlaceholderBytes(filled) : 0;
    if (bytes > 0) {
      pieces.emplace_back();
    } else {
      pieces.back().push_back(filled[0]);
    }
    filled.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return pieces;
}

// The first piece begins the text, the last ends it, the others follow each other; each as early as it can, which
// leaves most to those behind it.
bool Fits(absl::string_view text, const std::vector<std::string>& pieces) {
  if (pieces.size() == 1) return text == pieces[0];
  if (!absl::ConsumePrefix(&text, pieces.front()) || !absl::ConsumeSuffix(&text, pieces.back())) return false;
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const std::size_t at = text.find(pieces[i]);
    if (at == absl::string_view::npos) return false;
    text.remove_prefix(at + pieces[i].size());
  }
  return true;
}

}  // namespace

MessagePattern::MessagePattern(const Messages& messages, absl::string_view id, const MessageArgs& args)
    : text_(PiecesOf(messages.Say(id, args).en())), fix_(PiecesOf(messages.Fix(id, args).en())) {}

bool MessagePattern::Matches(absl::string_view text, absl::string_view fix) const {
  return Fits(text, text_) && Fits(fix, fix_);
}

}  // namespace paritect
