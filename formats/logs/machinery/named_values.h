// Names and numbers as lines of text tell them, whoever printed the line: `KEY SEPARATOR VALUE` in any order, in
// English and in Chinese. Plain lines and lines of evaluations are read with it.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_NAMED_VALUES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_NAMED_VALUES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/line_form.h"

namespace paritect {

// Whether any of the words stands in the text, wherever.
bool HoldsOneOf(absl::string_view text, absl::Span<const absl::string_view> words);

// What a field of a line is, where its key does not tell (LineFields, formats/logs/machinery/line_form.h).
enum LineSlot { kKeyed, kTotalSteps, kPlaceEpoch, kPlaceStep, kPlaceTotal };
// All known fields of one line, whichever order they stand in.
void FindPlainFields(absl::string_view text, LineFields& fields);
// These into the collector of a record; the number behind "step N/" into `total_steps`.
void TakeFields(const LineFields& found, FieldCollector& fields, std::int64_t& total_steps);

// All known fields of the text into `fields`; the number behind "step N/" into `total_steps`.
void CollectPlainFields(absl::string_view text, FieldCollector& fields, std::int64_t& total_steps);

// Whether a word begins at `i`, and where one ends. Chinese words and others end where the other kind begins
// ("训练loss"); "为" (is) is a separator.
bool IsWordStart(absl::string_view line, std::size_t i);
std::size_t WordEnd(absl::string_view line, std::size_t i);

// Walks over `KEY SEPARATOR VALUE` pairs: `visit(phrase, word, value)`, where `phrase` is the word with the word before
// it
// ("total loss") and `value` the text behind the separator. SEPARATOR is ':', '=', "is" or blanks before a digit.
void ForEachKeyValue(
    absl::string_view line,
    absl::FunctionRef<void(absl::string_view phrase, absl::string_view word, absl::string_view value)> visit);

// Whether what stands before the value's name says that it is not the last result: "best", "max", "target", "top-5".
bool IsOtherThanLast(absl::string_view line, absl::string_view phrase);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_NAMED_VALUES_H_
