// A report's signature: what exactly is signed, and whether a report file's holds.
#ifndef PARITECT_REPORT_SIGNATURE_H_
#define PARITECT_REPORT_SIGNATURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "report/json.h"

namespace paritect {

// What is signed: the report's JSON without `signature`, names of each object in byte order, no spaces, numbers in
// their shortest form, UTF-8, non-ASCII as DumpJson has it.
std::string CanonicalJson(const OrderedJson& report);

// The raw public key that the report's own `signature` names, where the signature holds under it. Whose key that is,
// the caller must know. NotFound: the report is not signed. DataLoss: the signature does not hold.
absl::StatusOr<std::string> SigningKeyOf(const OrderedJson& report);

}  // namespace paritect

#endif  // PARITECT_REPORT_SIGNATURE_H_
