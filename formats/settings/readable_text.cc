#include "formats/settings/readable_text.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "formats/archives/gzip.h"
#include "formats/archives/zip.h"
#include "formats/text_lines.h"

namespace paritect {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";

// ZIP, gzip, pickle: not texts.
bool IsBinary(absl::string_view bytes) {
  return LooksLikeZip(bytes) || LooksLikeGzip(bytes) ||
         (bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5);
}

std::string WithReplacements(absl::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t size = 1;
    const auto lead = static_cast<unsigned char>(line[i]);
    if (lead >= 0xF0) {
      size = 4;
    } else if (lead >= 0xE0) {
      size = 3;
    } else if (lead >= 0xC0) {
      size = 2;
    }
    if (IsValidUtf8(line.substr(i, size))) {
      absl::StrAppend(&out, line.substr(i, size));
      i += size;
    } else {
      absl::StrAppend(&out, kReplacement);
      ++i;
    }
  }
  return out;
}

}  // namespace

ReadableText::ReadableText(absl::string_view bytes, StrayBytes stray) : bytes_(bytes) {
  if (IsBinary(bytes)) return;
  const TextEncoding encoding = DetectTextEncoding(bytes.substr(0, 4096));
  if (encoding != TextEncoding::kUtf8) {
    const bool marked = absl::StartsWith(bytes, "\xFF\xFE") || absl::StartsWith(bytes, "\xFE\xFF");
    const char* charset = encoding == TextEncoding::kUtf16Le ? "UTF-16LE" : "UTF-16BE";
    std::optional<std::string> text = DecodeCharset(bytes.substr(marked ? 2 : 0), charset);
    if (!text) return;
    own_ = *std::move(text);
    changed_ = true;
    note_line_ = 1;
    note_ = absl::StrCat("the text is ", charset, ", not UTF-8");
    return;
  }
  absl::ConsumePrefix(&bytes_, kByteOrderMark);
  if (!IsValidUtf8(bytes_)) DecodeLines(stray);
}

void ReadableText::DecodeLines(StrayBytes stray) {
  std::int64_t number = 0;
  std::int64_t wrong = 0;
  bool gbk = stray == StrayBytes::kGbk;
  for (absl::string_view rest = bytes_; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const absl::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    ++number;
    if (IsValidUtf8(line)) {
      absl::StrAppend(&own_, line);
      continue;
    }
    if (wrong++ == 0) note_line_ = number;
    std::optional<std::string> text;
    if (stray == StrayBytes::kGbk) text = DecodeCharset(line, "GBK");
    gbk = gbk && text.has_value();
    absl::StrAppend(&own_, text ? *text : WithReplacements(line));
  }
  changed_ = true;
  note_ = absl::StrCat(wrong,
                       " line(s) are not UTF-8: ", gbk ? "read as GBK" : "bytes that are no character were replaced");
}

std::string ReadableLine(absl::string_view line) {
  if (IsValidUtf8(line)) return std::string(line);
  std::optional<std::string> text = DecodeCharset(line, "GBK");
  return text ? *std::move(text) : WithReplacements(line);
}

}  // namespace paritect
