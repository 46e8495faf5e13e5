// The report as JSON (schema paritect.report/1, docs/report.md). Shared by the json and jsonl formats.
// nlohmann-json with its own dump; strings are valid UTF-8 by then.
#ifndef PARITECT_CLIENT_REPORT_JSON_H_
#define PARITECT_CLIENT_REPORT_JSON_H_

#include <nlohmann/json.hpp>

#include "paritect/v1/report.pb.h"

namespace paritect {

using OrderedJson = nlohmann::ordered_json;

OrderedJson ReportToJson(const v1::Report& report);
OrderedJson CheckToJson(const v1::CheckResult& check);
OrderedJson FindingToJson(const v1::Finding& finding);

// "pass", "fail", "not_performed"
const char* VerdictWord(v1::Verdict verdict);
// "error", "warning", "note"
const char* SeverityWord(v1::Severity severity);

// Strict JSON text; bytes that are not UTF-8 (there should be none) become U+FFFD.
std::string DumpJson(const OrderedJson& json, int indent = 1);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_JSON_H_
