// Lines of a known form. A run prints the same line thousands of times with other numbers in it. The first time, a
// dialect reads a line in two steps: Collect finds the values in the text, Emit makes a record of them. From then on a
// line that has the same text around its numbers needs no search: its numbers stand in the known places.
//
// What may differ are plain decimal numbers ("-?12.5E-05") and the width of the blanks before them; a number that is a
// part of a word ("acc1") or that is written otherwise ("1,234.5", "nan") is text. So Collect would find the same
// values in both lines. A test compares (formats/logs/machinery/line_form_test.cc).
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LINE_FORM_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LINE_FORM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/log_numbers.h"

namespace paritect {

struct FieldValue {
  int slot = 0;  // the dialect's own
  LogKey key;    // where the dialect goes by it
  LogNumber number;
};

// What Collect finds in a line: all that Emit needs beside the line's number and rank.
struct LineFields {
  std::vector<FieldValue> values;
  int kind = 0;  // the dialect's own: which of its lines it is

  void Add(int slot, const LogNumber& number) { values.push_back({slot, {}, number}); }
  void Add(const LogKey& key, const LogNumber& number) { values.push_back({0, key, number}); }
  void Clear() {
    values.clear();
    kind = 0;
  }
};

class LineForm {
 public:
  // The form of `text`, in which `fields` was found; nullptr where it has none (no numbers, or values of odd
  // spellings).
  static std::unique_ptr<LineForm> Learn(absl::string_view text, const LineFields& fields);

  // The fields of `text` where it has this form, else nullptr. They stand until the next call.
  const LineFields* Match(absl::string_view text);

 private:
  // A piece of text, then a number.
  struct Part {
    std::uint32_t begin = 0;  // of the text, in text_
    std::uint32_t size = 0;
    std::int32_t value = -1;  // which of the fields the number is; -1: none
    bool blanks = false;      // at least one blank before the number
    bool sign = false;        // the number may have one
  };

  bool AddParts();

  std::string text_;
  std::vector<Part> parts_;
  absl::string_view tail_;  // what stands behind the last number
  LineFields fields_;
};

// The forms of one log's lines, the latest first.
class LineForms {
 public:
  const LineFields* Match(absl::string_view text);
  void Learn(absl::string_view text, const LineFields& fields);

 private:
  std::vector<std::unique_ptr<LineForm>> forms_;
  int credit_ = 64;  // learning costs more than reading: a log whose lines have no form stops it
  int waited_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LINE_FORM_H_
