// Numbers, globs and character sets: every other parser leans on them.
#include "common/glob.h"
#include "common/numbers.h"
#include "common/utf8.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  const std::string shown = DisplayBytes(bytes);
  FuzzCheck(IsValidUtf8(shown), "what is shown is UTF-8");
  FuzzCheck(TruncateToWidth(shown, 20).size() <= shown.size(), "cut, not grown");
  FuzzCheck(DisplayWidth(TruncateToWidth(shown, 20)) <= 20, "cut to the width");
  const auto normal = NormalizeNfc(bytes);
  if (normal.has_value()) FuzzCheck(IsValidUtf8(*normal), "normalised text is UTF-8");
  (void)DecodeCharset(bytes, "GBK");
  const auto number = ParseDouble(bytes);
  if (number.has_value() && *number == *number) {
    FuzzCheck(ParseDouble(FormatDouble(*number)) == number, "a number is printed so that it reads back");
  }
  (void)ParseInt(bytes);
  (void)ParseDoubleWithCommas(bytes);
  const std::size_t half = bytes.size() / 2;
  if (bytes.size() < 4096) (void)GlobMatch(bytes.substr(0, half), bytes.substr(half));
  return 0;
}
