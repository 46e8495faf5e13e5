// Apart from utf8.cc because iconv opens files: the pure core links utf8.cc only.
#include <iconv.h>

#include <cerrno>

#include "common/utf8.h"

namespace paritect {
namespace {

std::optional<std::string> Convert(absl::string_view bytes, const char* to_charset, const char* from_charset) {
  iconv_t converter = iconv_open(to_charset, from_charset);
  if (converter == reinterpret_cast<iconv_t>(-1)) return std::nullopt;  // NOLINT: iconv's own error value
  std::string out;
  std::string input(bytes);
  char* in = input.data();
  std::size_t left = input.size();
  char buffer[4096];
  bool ok = true;
  while (left > 0 && ok) {
    char* to = buffer;
    std::size_t room = sizeof(buffer);
    const std::size_t result = iconv(converter, &in, &left, &to, &room);
    out.append(buffer, static_cast<std::size_t>(to - buffer));
    ok = result != static_cast<std::size_t>(-1) || errno == E2BIG;
  }
  iconv_close(converter);
  if (!ok) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> DecodeCharset(absl::string_view bytes, const char* charset) {
  return Convert(bytes, "UTF-8", charset);
}

std::optional<std::string> EncodeCharset(absl::string_view text, const char* charset) {
  return Convert(text, charset, "UTF-8");
}

}  // namespace paritect
