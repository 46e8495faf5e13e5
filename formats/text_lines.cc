#include "formats/text_lines.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/utf8.h"
#include "formats/byte_scan.h"

namespace paritect {
namespace {

constexpr absl::string_view kUtf8Bom = "\xEF\xBB\xBF";

bool Contains(absl::string_view text, char c) {
  return std::memchr(text.data(), c, text.size()) != nullptr;
}

bool HasHighByte(absl::string_view text) {
  std::size_t i = 0;
  std::uint64_t all = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof(word));
    all |= word;
  }
  for (; i < text.size(); ++i) all |= static_cast<unsigned char>(text[i]);
  return (all & 0x8080808080808080ULL) != 0;
}

// Length of the run of NUL bytes at the front; long runs go by the block, not by the byte.
std::size_t NulRun(absl::string_view text) {
  static constexpr char kZeros[4096] = {};
  std::size_t n = 0;
  while (text.size() - n >= sizeof(kZeros) && std::memcmp(text.data() + n, kZeros, sizeof(kZeros)) == 0) {
    n += sizeof(kZeros);
  }
  while (n < text.size() && text[n] == '\0') ++n;
  return n;
}

void AppendUtf8(std::uint32_t c, std::string& out) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
    return;
  }
  if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (c >> 6)));
  } else {
    if (c < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | (c >> 12)));
    } else {
      out.push_back(static_cast<char>(0xF0 | (c >> 18)));
      out.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    }
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
  }
  out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
}

}  // namespace

TextEncoding DetectTextEncoding(absl::string_view head) {
  if (absl::StartsWith(head, absl::string_view("\xFF\xFE\0\0", 4))) return TextEncoding::kUtf32Le;
  if (absl::StartsWith(head, absl::string_view("\0\0\xFE\xFF", 4))) return TextEncoding::kUtf32Be;
  if (absl::StartsWith(head, "\xFF\xFE")) return TextEncoding::kUtf16Le;
  if (absl::StartsWith(head, "\xFE\xFF")) return TextEncoding::kUtf16Be;
  const std::size_t n = std::min<std::size_t>(head.size(), 4096) & ~std::size_t{1};
  if (n < 16) return TextEncoding::kUtf8;
  std::size_t quarter[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < n; ++i) quarter[i & 3] += head[i] == '\0';
  const std::size_t most = n / 4 * 9 / 10;  // of a quarter that is NUL but for rare characters
  if (quarter[2] >= most && quarter[3] >= most && quarter[1] * 8 > n && quarter[0] * 20 < n)
    return TextEncoding::kUtf32Le;
  if (quarter[0] >= most && quarter[1] >= most && quarter[2] * 8 > n && quarter[3] * 20 < n)
    return TextEncoding::kUtf32Be;
  const std::size_t zeros[2] = {quarter[0] + quarter[2], quarter[1] + quarter[3]};
  // Text in ASCII letters has a NUL in one half of each unit and hardly any in the other.
  if (zeros[1] * 5 > n * 2 && zeros[0] * 20 < n) return TextEncoding::kUtf16Le;
  if (zeros[0] * 5 > n * 2 && zeros[1] * 20 < n) return TextEncoding::kUtf16Be;
  return TextEncoding::kUtf8;
}

std::string StripAnsi(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 1 >= text.size()) break;
    const char kind = text[++i];
    if (kind == '[') {  // CSI: parameters, then one final byte
      while (i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0x40) ++i;
      ++i;
    } else if (kind == ']') {  // OSC: up to BEL or ESC '\'
      while (i + 1 < text.size() && text[i + 1] != '\a' && text[i + 1] != '\x1b') ++i;
      ++i;
      if (i < text.size() && text[i] == '\x1b') ++i;
    }
  }
  return out;
}

std::string TextLines::WideToUtf8(absl::string_view chunk) {
  carry_.append(chunk.data(), chunk.size());
  const bool wide = encoding_ == TextEncoding::kUtf32Le || encoding_ == TextEncoding::kUtf32Be;
  return wide ? Utf32ToUtf8() : Utf16ToUtf8();
}

std::string TextLines::Utf32ToUtf8() {
  std::string out;
  std::size_t i = 0;
  for (; i + 4 <= carry_.size(); i += 4) {
    std::uint32_t c = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t at = encoding_ == TextEncoding::kUtf32Be ? k : 3 - k;
      c = c << 8 | static_cast<unsigned char>(carry_[i + at]);
    }
    if (c != 0xFEFF) AppendUtf8(c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0xFFFD : c, out);
  }
  carry_.erase(0, i);
  return out;
}

std::string TextLines::Utf16ToUtf8() {
  std::string out;
  out.reserve(carry_.size());
  const int high = encoding_ == TextEncoding::kUtf16Be ? 0 : 1;
  auto unit = [&](std::size_t at) {
    return static_cast<std::uint32_t>((static_cast<unsigned char>(carry_[at + static_cast<std::size_t>(high)]) << 8) |
                                      static_cast<unsigned char>(carry_[at + static_cast<std::size_t>(1 - high)]));
  };
  std::size_t i = 0;
  for (; i + 2 <= carry_.size(); i += 2) {
    std::uint32_t c = unit(i);
    if (c == 0xFEFF) continue;
    if (c >= 0xD800 && c < 0xDC00) {
      if (i + 4 > carry_.size()) break;
      const std::uint32_t low = unit(i + 2);
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      }
    }
    AppendUtf8(c >= 0xD800 && c < 0xE000 ? 0xFFFD : c, out);
  }
  carry_.erase(0, i);
  return out;
}

void TextLines::Append(absl::string_view piece) {
  if (pending_too_long_) return;
  if (pending_.size() + piece.size() > kTextLineBytesMax) {
    piece = piece.substr(0, kTextLineBytesMax - pending_.size());
    pending_too_long_ = true;
  }
  pending_.append(piece.data(), piece.size());
}

void TextLines::EndLine(absl::string_view piece, bool ended, Sink sink) {
  TextLine line;
  line.number = number_;
  line.ended = ended;
  line.after_hole = after_hole_;
  after_hole_ = false;
  if (pending_.empty() && piece.size() <= kTextLineBytesMax) {
    line.text = piece;
  } else {
    Append(piece);
    line.text = pending_;
    line.too_long = pending_too_long_;
  }
  if (number_ == 1 && absl::StartsWith(line.text, kUtf8Bom)) line.text.remove_prefix(kUtf8Bom.size());
  if (may_have_escape_ && Contains(line.text, '\x1b')) {
    scratch_ = StripAnsi(line.text);
    line.text = scratch_;
  }
  std::string decoded;
  if (may_have_high_byte_ && HasHighByte(line.text) && !IsValidUtf8(line.text)) {
    auto gbk = DecodeCharset(line.text, "GBK");
    if (!gbk) gbk = DecodeCharset(line.text, "LATIN1");
    if (gbk) {
      decoded = std::move(*gbk);
      line.text = decoded;
    }
  }
  if (!absl::StripAsciiWhitespace(line.text).empty()) sink(line);
  pending_.clear();
  pending_too_long_ = false;
}

void TextLines::CountNuls(std::size_t n) {
  if (nul_bytes_ == 0) first_hole_line_ = number_;
  nul_bytes_ += static_cast<std::int64_t>(n);
  hole_ += static_cast<std::int64_t>(n);
  longest_hole_ = std::max(longest_hole_, hole_);
}

constexpr std::size_t kQuietBytesMax = 32 << 10;  // less than the longest line: none of a stretch is too long
constexpr int kQuietPauseMax = 256;

// Bytes of whole quiet lines at the front. Where there are none the search pauses for ever more lines.
std::size_t TextLines::SkipQuiet(absl::string_view chunk, Quiet quiet) {
  const QuietText found = quiet(chunk.substr(0, kQuietBytesMax));
  const absl::string_view stretch = chunk.substr(0, found.bytes);
  const std::size_t end = stretch.rfind('\n');
  if (end == absl::string_view::npos) {
    quiet_pause_ = std::min(2 * quiet_pause_ + 1, kQuietPauseMax);
    lines_till_quiet_ = quiet_pause_;
    return 0;
  }
  quiet_pause_ = 0;
  number_ += static_cast<std::int64_t>(found.newlines);
  return end + 1;
}

// No CR, backspace or NUL in the chunk: only LF ends a line.
void TextLines::FeedPlain(absl::string_view chunk, const Quiet* quiet, Sink sink) {
  while (!chunk.empty()) {
    if (quiet != nullptr && lines_till_quiet_-- <= 0 && pending_.empty() && !after_hole_ && !may_have_escape_) {
      chunk.remove_prefix(SkipQuiet(chunk, *quiet));
    }
    const auto* end = static_cast<const char*>(std::memchr(chunk.data(), '\n', chunk.size()));
    if (end == nullptr) {
      Append(chunk);
      return;
    }
    const auto length = static_cast<std::size_t>(end - chunk.data());
    if (length > 0 || !pending_.empty()) EndLine(chunk.substr(0, length), true, sink);
    ++number_;
    after_hole_ = false;
    chunk.remove_prefix(length + 1);
  }
}

void TextLines::FeedUtf8(absl::string_view chunk, const Quiet* quiet, Sink sink) {
  if (!HasOddBytes(chunk)) {
    // A line that began in the chunk before keeps what that one may have.
    if (pending_.empty()) may_have_escape_ = may_have_high_byte_ = false;
    if (!chunk.empty()) hole_ = 0;
    FeedPlain(chunk, quiet, sink);
    return;
  }
  may_have_escape_ = (may_have_escape_ && !pending_.empty()) || Contains(chunk, '\x1b');
  may_have_high_byte_ = (may_have_high_byte_ && !pending_.empty()) || HasHighByte(chunk);
  if (!Contains(chunk, '\r') && !Contains(chunk, '\b') && !Contains(chunk, '\0')) {
    hole_ = 0;
    FeedPlain(chunk, quiet, sink);
    return;
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < chunk.size();) {
    const char c = chunk[i];
    if (c != '\n' && c != '\r' && c != '\b' && c != '\0') {
      hole_ = 0;
      ++i;
      continue;
    }
    const absl::string_view piece = chunk.substr(begin, i - begin);
    const bool has_text = !piece.empty() || !pending_.empty();
    if (has_text) EndLine(piece, c != '\0', sink);
    if (c == '\0') {
      const std::size_t run = NulRun(chunk.substr(i));
      CountNuls(run);
      if (has_text) after_hole_ = true;
      i += run;
    } else {
      hole_ = 0;
      if (c == '\n') {
        ++number_;
        after_hole_ = false;
      }
      ++i;
    }
    begin = i;
  }
  Append(chunk.substr(begin));
}

void TextLines::Feed(absl::string_view chunk, Sink sink) {
  if (encoding_ == TextEncoding::kUtf8) {
    FeedUtf8(chunk, nullptr, sink);
  } else {
    FeedUtf8(WideToUtf8(chunk), nullptr, sink);
  }
}

void TextLines::Feed(absl::string_view chunk, Quiet quiet, Sink sink) {
  if (encoding_ != TextEncoding::kUtf8) return Feed(chunk, sink);
  FeedUtf8(chunk, &quiet, sink);
}

void TextLines::FeedHole(std::uint64_t bytes, Sink sink) {
  if (bytes == 0) return;
  if (encoding_ != TextEncoding::kUtf8) carry_.clear();
  FeedUtf8(absl::string_view("\0", 1), nullptr, sink);
  CountNuls(static_cast<std::size_t>(bytes - 1));
}

void TextLines::Finish(Sink sink) {
  if (!pending_.empty()) EndLine("", false, sink);
}

}  // namespace paritect
