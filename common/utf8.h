// Names are bytes. These turn them into something that can be shown, and back out of other forms.
// Unicode data: utf8proc (Debian's libutf8proc, Unicode 14).
#ifndef PARITECT_COMMON_UTF8_H_
#define PARITECT_COMMON_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
bool IsValidUtf8(absl::string_view bytes);

// The text itself where it is UTF-8; else every byte that is not part of a valid sequence becomes
// "\xHH" (upper-case hexadecimal). Control characters (C0, DEL, C1) and what changes the direction or the visibility of
// other characters become "\xHH" too: what is shown is what stands there. Never fails.
std::string DisplayBytes(absl::string_view bytes);

// For JSON, which loses nothing: as DisplayBytes, but valid characters above U+007F stay; JsonEscapes writes the
// unsafe ones of a finished JSON text as \uHHHH.
std::string JsonText(absl::string_view bytes);
std::string JsonEscapes(absl::string_view json);

// Whether a terminal or a reader obeys the character instead of showing it: C1 controls, marks and overrides of
// direction, line separators, the byte order mark.
bool IsObeyedRune(std::int32_t rune);

// Unicode Normalisation Form C; nullopt where the bytes are not UTF-8.
std::optional<std::string> NormalizeNfc(absl::string_view text);

// Case-folded (for file systems that ignore case); the bytes themselves where not UTF-8.
std::string FoldCase(absl::string_view text);

// Columns that a terminal uses for the text: 2 for East Asian wide characters, 0 for combining ones.
// Invalid bytes count as 1.
std::size_t DisplayWidth(absl::string_view text);

// The longest prefix of at most `columns` columns, at a character boundary.
absl::string_view TruncateToWidth(absl::string_view text, std::size_t columns);

// `bytes` read in `charset` ("GBK", "LATIN1", "UTF-16LE" ...) as UTF-8; nullopt where it does not decode.
// Uses iconv: not for the pure core.
std::optional<std::string> DecodeCharset(absl::string_view bytes, const char* charset);
// The other way round: UTF-8 `text` in `charset`; nullopt where it cannot be written in it.
std::optional<std::string> EncodeCharset(absl::string_view text, const char* charset);

}  // namespace paritect

#endif  // PARITECT_COMMON_UTF8_H_
