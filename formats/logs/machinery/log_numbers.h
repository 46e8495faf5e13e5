// Numbers as training logs spell them. Grammar and refusals: docs/log-formats.md, "Numbers".
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LOG_NUMBERS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LOG_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

struct LogNumber {
  enum class Kind {
    kValue,    // a number, NaN or an infinity
    kMissing,  // nothing, N/A, null, None
    kRefused,  // looks like a number and is not one, or is ambiguous ("2,3", "1.234,5", "2.3.4")
    kSpliced,  // a number with another line's text in it ("2ss=2.2")
  };
  Kind kind = Kind::kMissing;
  double value = 0;
  double resolution = 0;   // half a unit of the last printed digit; 0 for NaN and infinities
  absl::string_view text;  // the token
  bool percent = false;    // printed with a per cent sign: the value is in points
};

// Reads the number that begins at the front of `text` (blanks are skipped). It ends at a blank, '|', ';',
// a closing bracket, or a comma that is not inside the number. Never uses the locale.
LogNumber ReadLogNumber(absl::string_view text);

// The same of a share: "9912/10000" is 0.9912, "76.1 %" has its sign behind a blank. `text` covers all of it.
LogNumber ReadLogShare(absl::string_view text);

// A step or a count: nullopt where the number is none (a fraction, NaN, beyond what a double counts by ones).
std::optional<std::int64_t> WholeLogNumber(double value);

// Only the plain decimal number "-?12.5E-05" that stands at the very front, whatever follows: its length, 0 where there
// is none (also where its value is infinite). Gives what ReadLogNumber gives for such a number.
std::size_t ReadPlainLogNumber(absl::string_view text, LogNumber& number);

// The same for a text that holds the number alone ("2.4977", "\"0.00\"", "tensor(1.2, device='npu:0')").
std::optional<double> ParseLogNumber(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LOG_NUMBERS_H_
