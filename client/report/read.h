// A report file (paritect.report/1, as `-o json` writes it) read back: what a reader of findings needs of it.
#ifndef PARITECT_CLIENT_REPORT_READ_H_
#define PARITECT_CLIENT_REPORT_READ_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

// Verdicts, findings with their texts, sides and number facts, and what was missing. InvalidArgument, in words, for
// what is no report of this schema.
absl::StatusOr<v1::Report> ReportFromJson(absl::string_view json);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_READ_H_
