// The report as JSON (schema paritect.report/1, docs/report.md). Shared by every format that is made of it and by the
// server.
// nlohmann-json with its own dump; strings are valid UTF-8 by then.
#ifndef PARITECT_REPORT_JSON_H_
#define PARITECT_REPORT_JSON_H_

#include "paritect/v1/pictures.pb.h"
#include "paritect/v1/report.pb.h"
#include "report/columns.h"       // IWYU pragma: export
#include "report/report_words.h"  // IWYU pragma: export

namespace paritect {

// What stands beside a report; what is not there is left out. Borrows.
struct ReportCompanion {
  const v1::ReportPictures* pictures = nullptr;
  const v1::ReportMeta* meta = nullptr;
  const v1::ReportSignature* signature = nullptr;
};

// How long lists stand there: as their readers know them, or as columns (report/columns.h) for the page.
enum class ListForm { kRows, kColumns };

// With `meta` and `signature`; pictures are none of a report's promises (report/pictures_json.h).
OrderedJson ReportToJson(const v1::Report& report, const ReportCompanion& companion = {},
                         ListForm form = ListForm::kRows);
// Causes in order of work with what follows from each ([{check, kind, stage, findings, consequences}]).
OrderedJson CausesToJson(const v1::Report& report);
OrderedJson CheckToJson(const v1::CheckResult& check, ListForm form = ListForm::kRows);
OrderedJson FindingToJson(const v1::Finding& finding);

// {"en": ..., "zh": ...}
OrderedJson TextToJson(const v1::Text& text);

// Strict JSON text; bytes that are not UTF-8 (there should be none) become U+FFFD.
std::string DumpJson(const OrderedJson& json, int indent = 1);

}  // namespace paritect

#endif  // PARITECT_REPORT_JSON_H_
