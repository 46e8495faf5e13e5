#include "rules/message_pattern.h"

namespace paritect {
namespace {

std::unique_ptr<RE2> PatternOf(const std::string& filled) {
  static const RE2& placeholder = *new RE2(R"(\\\{[a-z0-9_]+(?:\\\|[^{}]*?)?\\\})");
  std::string pattern = RE2::QuoteMeta(filled);
  RE2::GlobalReplace(&pattern, placeholder, ".*");
  return std::make_unique<RE2>("(?s)" + pattern);
}

bool Full(absl::string_view text, const RE2& pattern) {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

}  // namespace

MessagePattern::MessagePattern(const Messages& messages, absl::string_view id, const MessageArgs& args)
    : text_(PatternOf(messages.Say(id, args).en())), fix_(PatternOf(messages.Fix(id, args).en())) {}

bool MessagePattern::Matches(absl::string_view text, absl::string_view fix) const {
  return Full(text, *text_) && Full(fix, *fix_);
}

}  // namespace paritect
