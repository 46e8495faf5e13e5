#include "formats/datasets/list_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/datasets/list_fields.h"

namespace paritect {
namespace {

using absl::string_view;

bool BeginsWithAny(string_view line, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return absl::StartsWith(line, word); });
}

// "0.123456(s) elapsed"
bool IsElapsed(string_view line) {
  return absl::EndsWith(line, " elapsed") && absl::ascii_isdigit(static_cast<unsigned char>(line.front()));
}

}  // namespace

bool IsListHeader(string_view line) {
  int known = 0;
  for (string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    if (absl::StrContains(word, '/') || absl::StrContains(word, '\\') || absl::EndsWith(word, ":")) return false;
    if (IsDigestText(word)) return false;
    known += ListColumnOf(word) != ListColumn::kOther || IsAlgorithmName(word) ? 1 : 0;
  }
  return known >= 2;
}

bool IsListRemark(string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line.front() == '#' || line == "//") return true;
  if (line.find_first_not_of("-=+| \t") == string_view::npos) return true;
  const ListWords& words = BuiltInListWords();
  return BeginsWithAny(line, words.remarks) || BeginsWithAny(line, words.more) || IsElapsed(line);
}

void ListWhole::See(const TextLine& line) {
  const string_view text = absl::StripAsciiWhitespace(line.text);
  if (text.empty()) return;
  last_ = line;
  if (BeginsWithAny(text, BuiltInListWords().more)) more_ = line;
  if (frame_ == nullptr) {
    if (!IsListRemark(text) && !IsListHeader(text)) return;
    for (const ListFrame& frame : BuiltInListWords().frames) {
      if (absl::StrContains(text, frame.begins)) frame_ = &frame;
    }
    ended_ = frame_ != nullptr && absl::StartsWith(text, frame_->ends);
    return;
  }
  if (!absl::StartsWith(text, frame_->ends)) {
    ended_ = ended_ && IsListRemark(text);
    return;
  }
  ended_ = true;
  std::uint64_t count = 0;
  const string_view rest = absl::StripAsciiWhitespace(text.substr(frame_->ends.size()));
  if (absl::SimpleAtoi(rest, &count)) count_ = count;
}

void ListWhole::Finish(std::size_t records, ManifestBuilder& sink) const {
  if (more_) sink.BadLine(more_->number, more_->text, false);
  if (frame_ != nullptr && !ended_) {
    sink.BadLine(last_.number, last_.text, true);
  } else if (count_ && *count_ != records) {
    sink.BadLine(last_.number, absl::StrCat(frame_->ends, " ", *count_, " (", records, ")"), false);
  }
}

}  // namespace paritect
