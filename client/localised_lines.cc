#include "client/localised_lines.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/localise.h"
#include "re2/re2.h"

namespace paritect {

std::string LocalisedLine(Language language, absl::string_view line) {
  static const RE2& said_by = *new RE2(R"((paritect(?: [a-z]+)*: |[^\n]+?:\d+:\d+: )((?:warning|note): )?(.*))");
  if (language != Language::kChinese || absl::StartsWith(line, "{")) return std::string(line);
  std::string whole = Localised(language, line);
  if (whole != line) return whole;
  std::string who;
  std::string weight;
  std::string text;
  if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), said_by, &who, &weight, &text)) return whole;
  return absl::StrCat(who, Localised(language, weight), Localised(language, text));
}

LocalisedLines::LocalisedLines(Language language, std::ostream& stream)
    : language_(language), stream_(stream), target_(stream.rdbuf()), flags_(stream.flags()) {
  if (language_ != Language::kChinese) return;
  stream_.rdbuf(this);
  stream_.unsetf(std::ios::unitbuf);  // a line is said at once, its pieces are not
}

LocalisedLines::~LocalisedLines() {
  if (language_ != Language::kChinese) return;
  sync();
  stream_.rdbuf(target_);
  stream_.flags(flags_);
}

void LocalisedLines::Put(absl::string_view text) {
  target_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

LocalisedLines::int_type LocalisedLines::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  if (one != '\n') {
    line_.push_back(one);
    return c;
  }
  // What moves on a terminal was drawn, not said.
  Put(line_.find_first_of("\r\x1b") == std::string::npos ? LocalisedLine(language_, line_) : line_);
  line_.clear();
  Put("\n");
  return target_->pubsync() == 0 ? c : traits_type::eof();
}

int LocalisedLines::sync() {
  Put(line_);
  line_.clear();
  return target_->pubsync();
}

}  // namespace paritect
