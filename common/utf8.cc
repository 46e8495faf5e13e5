#include "common/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace paritect {
namespace {

// Length of the valid sequence at the start of `bytes`, 0 if there is none; sets `rune`.
std::size_t NextRune(absl::string_view bytes, utf8proc_int32_t& rune) {
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                                       static_cast<utf8proc_ssize_t>(bytes.size()), &rune);
  return length <= 0 || rune < 0 ? 0 : static_cast<std::size_t>(length);
}

// Invalid bytes, ASCII controls and the characters that `hide` names as \xHH.
std::string Shown(absl::string_view bytes, bool (*hide)(std::int32_t)) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto* plain_end = std::find_if(bytes.begin(), bytes.end(), [](char c) { return c < 0x20 || c == 0x7f; });
    out.append(bytes.begin(), plain_end);
    bytes.remove_prefix(static_cast<std::size_t>(plain_end - bytes.begin()));
    if (bytes.empty()) break;
    utf8proc_int32_t rune = 0;
    std::size_t length = NextRune(bytes, rune);
    const bool control = length == 1 && (rune < 0x20 || rune == 0x7f);
    if (length == 0 || control || (length > 1 && hide(rune))) {
      length = std::max<std::size_t>(length, 1);
      for (char byte : bytes.substr(0, length))
        absl::StrAppendFormat(&out, "\\x%02X", static_cast<unsigned char>(byte));
    } else {
      out.append(bytes.data(), length);
    }
    bytes.remove_prefix(length);
  }
  return out;
}

std::optional<std::string> Map(absl::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(options));
  if (length < 0) return std::nullopt;
  std::string result(reinterpret_cast<const char*>(out), static_cast<std::size_t>(length));
  std::free(out);
  return result;
}

}  // namespace

namespace {

// How many bytes of ASCII stand in front: nearly all of a log, looked at eight by eight.
std::size_t AsciiInFront(absl::string_view bytes) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof(word) <= bytes.size(); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at;
}

}  // namespace

bool IsValidUtf8(absl::string_view bytes) {
  for (;;) {
    bytes.remove_prefix(AsciiInFront(bytes));
    if (bytes.empty()) return true;
    utf8proc_int32_t rune = 0;
    const std::size_t length = NextRune(bytes, rune);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
}

bool IsObeyedRune(std::int32_t rune) {
  return (rune >= 0x80 && rune <= 0x9f) || rune == 0x061c || rune == 0x200e || rune == 0x200f ||
         (rune >= 0x2028 && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069) || rune == 0xfeff || rune == 0xfffe ||
         rune == 0xffff;  // readers of XML, spreadsheets among them, refuse a whole file for one of these
}

std::string DisplayBytes(absl::string_view bytes) {
  return Shown(bytes, IsObeyedRune);
}

std::string JsonText(absl::string_view bytes) {
  return Shown(bytes, [](std::int32_t) { return false; });
}

std::string JsonEscapes(absl::string_view json) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < json.size();) {
    utf8proc_int32_t rune = 0;
    const std::size_t length = (json[at] & 0x80) == 0 ? 1 : std::max<std::size_t>(1, NextRune(json.substr(at), rune));
    if (length > 1 && IsObeyedRune(rune)) {
      absl::StrAppendFormat(&out, "%s\\u%04x", json.substr(copied, at - copied), rune);
      copied = at + length;
    }
    at += length;
  }
  return absl::StrCat(out, json.substr(copied));
}

std::optional<std::string> NormalizeNfc(absl::string_view text) {
  return Map(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

std::string FoldCase(absl::string_view text) {
  auto folded = Map(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
  return folded ? *std::move(folded) : std::string(text);
}

std::size_t DisplayWidth(absl::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    utf8proc_int32_t rune = 0;
    std::size_t length = NextRune(text, rune);
    if (length == 0) {
      length = 1;
      ++width;
    } else {
      const int columns = utf8proc_charwidth(rune);
      width += columns > 0 ? static_cast<std::size_t>(columns) : 0;
    }
    text.remove_prefix(length);
  }
  return width;
}

absl::string_view TruncateToWidth(absl::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t width = 0;
  while (used < text.size()) {
    utf8proc_int32_t rune = 0;
    std::size_t length = NextRune(text.substr(used), rune);
    std::size_t rune_width = 1;
    if (length == 0) {
      length = 1;
    } else {
      const int w = utf8proc_charwidth(rune);
      rune_width = w > 0 ? static_cast<std::size_t>(w) : 0;
    }
    if (width + rune_width > columns) break;
    width += rune_width;
    used += length;
  }
  return text.substr(0, used);
}

}  // namespace paritect
