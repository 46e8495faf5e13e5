#include "client/inspector.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {

#define PARITECT_INSPECTOR(name) extern const Inspector k##name##Inspector;
#include "client/all_inspectors.inc"
#undef PARITECT_INSPECTOR

absl::Span<const Inspector* const> AllInspectors() {
  static constexpr const Inspector* kAll[] = {
#define PARITECT_INSPECTOR(name) &k##name##Inspector,
#include "client/all_inspectors.inc"
#undef PARITECT_INSPECTOR
  };
  return kAll;
}

OrderedJson NoteToJson(const v1::Note& note) {
  OrderedJson json;
  json["kind"] = note.kind();
  if (note.line() > 0) json["line"] = note.line();
  if (!note.message().empty()) json["message"] = DisplayBytes(note.message());
  return json;
}

OrderedJson NumberToJson(double value) {
  if (!std::isfinite(value)) return FormatDouble(value);
  const auto whole = static_cast<std::int64_t>(std::fabs(value) < 9e15 ? value : 0);
  if (std::fabs(value) < 9e15 && static_cast<double>(whole) == value) return whole;
  return value;
}

}  // namespace paritect
