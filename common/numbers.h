// Numbers as configuration files and logs spell them, without locale.
#ifndef PARITECT_COMMON_NUMBERS_H_
#define PARITECT_COMMON_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// "1e-4", "1.0E-04", "+3", ".5", "5.", "nan", "NaN", "-inf", "Infinity"; surrounding blanks are
// allowed, anything else is nullopt (thousands commas, hexadecimal, units, an empty text).
std::optional<double> ParseDouble(absl::string_view text);

// Decimal integers only ("-12", "+7"); nullopt on overflow of 64 bits.
std::optional<std::int64_t> ParseInt(absl::string_view text);

// As ParseDouble, but a thousands comma is allowed where it stands right ("12,345.6").
std::optional<double> ParseDoubleWithCommas(absl::string_view text);

// The shortest decimal text that reads back as the same double; "nan", "inf", "-inf"; integers up
// to 2^53 without a point.
std::string FormatDouble(double value);

// `digits` significant digits, for messages.
std::string FormatShort(double value, int digits = 6);

// Half a unit of the last printed digit of a decimal text: "2.345E-01" gives 0.00005. 0 if not a
// number. What a printed value cannot tell apart, no check may judge.
double PrintResolution(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_COMMON_NUMBERS_H_
