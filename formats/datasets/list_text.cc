#include "formats/datasets/list_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "formats/archives/gzip.h"
#include "formats/datasets/list_lines.h"
#include "formats/datasets/manifest_builder.h"
#include "rules/list_words.h"

namespace paritect {
namespace {

using absl::string_view;

// Digests do not compress: a list that unpacks to many times its size is none.
constexpr std::size_t kUnpackedBytesMax = 1U << 30;
constexpr std::size_t kUnpackedBytesFree = 64U << 20;
constexpr std::size_t kUnpackedRatioMax = 32;
constexpr std::size_t kLinesLookedAt = 20;

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | code >> 12));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | code >> 18));
    out.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

std::string FromUtf16(string_view text, bool little) {
  std::string out;
  std::uint32_t high = 0;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto a = static_cast<unsigned char>(text[i]);
    const auto b = static_cast<unsigned char>(text[i + 1]);
    const std::uint32_t unit = little ? static_cast<std::uint32_t>(b << 8 | a) : static_cast<std::uint32_t>(a << 8 | b);
    if (unit >= 0xD800 && unit < 0xDC00) {
      high = unit;
    } else if (unit >= 0xDC00 && unit < 0xE000 && high != 0) {
      AppendUtf8(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), out);
      high = 0;
    } else {
      AppendUtf8(unit, out);
    }
  }
  return out;
}

// UTF-16 without a mark: every second byte of the first line is zero.
bool IsBareUtf16(string_view text) {
  constexpr std::size_t kBytes = 32;
  if (text.size() < kBytes) return false;
  for (std::size_t i = 0; i < kBytes; i += 2) {
    if (text[i] == '\0' || text[i + 1] != '\0') return false;
  }
  return true;
}

bool IsAscii(string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Whether the line, in UTF-8, holds words of lists that are not ASCII: a header's cells, a title's parts.
bool HasOwnWords(string_view line) {
  for (const auto& [word, column] : BuiltInListWords().columns) {
    if (!IsAscii(word) && absl::StrContains(line, word)) return true;
  }
  for (const std::string& remark : BuiltInListWords().remarks) {
    if (!IsAscii(remark) && absl::StartsWith(line, remark)) return true;
  }
  return absl::StrContains(line, " 哈希") || absl::StrContains(line, " 的 ");
}

bool IsWindowsPath(string_view line) {
  for (auto at = line.find(":\\"); at != string_view::npos; at = line.find(":\\", at + 1)) {
    if (at > 0 && absl::ascii_isalpha(static_cast<unsigned char>(line[at - 1]))) return true;
  }
  return false;
}

// A line with a digest is a record: its words are a name's.
bool HasDigest(string_view line) {
  std::size_t run = 0;
  for (const char c : line) {
    run = absl::ascii_isxdigit(static_cast<unsigned char>(c)) ? run + 1 : 0;
    if (run == 32) return true;
  }
  return false;
}

bool SpeaksGbk(string_view decoded) {
  std::size_t looked_at = 0;
  while (!decoded.empty() && looked_at++ < kLinesLookedAt) {
    const auto end = decoded.find('\n');
    const string_view line = decoded.substr(0, end);
    decoded.remove_prefix(end == string_view::npos ? decoded.size() : end + 1);
    if (IsWindowsPath(line) || (!HasDigest(line) && HasOwnWords(line))) return true;
  }
  return false;
}

}  // namespace

ReadableList ListText(string_view bytes) {
  ReadableList list;
  Gunzipped unpacked;
  if (LooksLikeGzip(bytes)) {
    const std::size_t limit = std::min(kUnpackedBytesMax, kUnpackedBytesFree + kUnpackedRatioMax * bytes.size());
    unpacked = Gunzip(bytes, limit);
    list.cut = !unpacked.whole;
    if (unpacked.too_large) {
      list.refused = absl::StrCat("packed with gzip, and unpacks to more than ", limit, " bytes");
      return list;
    }
    bytes = unpacked.bytes;
  }
  if (absl::StartsWith(bytes, "\xFF\xFE") || absl::StartsWith(bytes, "\xFE\xFF")) {
    list.text = FromUtf16(bytes.substr(2), bytes[0] == '\xFF');
    return list;
  }
  if (IsBareUtf16(bytes)) {
    list.text = FromUtf16(bytes, true);
    return list;
  }
  absl::ConsumePrefix(&bytes, "\xEF\xBB\xBF");
  list.text = std::string(bytes);
  if (IsValidUtf8(bytes)) return list;
  auto decoded = DecodeCharset(bytes, "GBK");
  const auto last = bytes.rfind('\n');
  if (!decoded && last != string_view::npos) {
    // A list that is cut may end in half a character.
    decoded = DecodeCharset(bytes.substr(0, last + 1), "GBK");
    if (decoded) absl::StrAppend(&*decoded, bytes.substr(last + 1));
  }
  if (decoded && SpeaksGbk(*decoded)) {
    list.text = *std::move(decoded);
    list.gbk = true;
  }
  return list;
}

}  // namespace paritect
