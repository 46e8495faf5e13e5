// Rows of one kind (findings of a check, sources) as columns, which say what rows share once: a hundred thousand
// findings in a tenth of the bytes, and a browser reads only the columns that it shows. Nothing is lost. The form is
// described in docs/page.md; report/page/columns.js reads it too.
#ifndef PARITECT_REPORT_COLUMNS_H_
#define PARITECT_REPORT_COLUMNS_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>  // json.hpp takes 2 s of each file: it stands where values are made or read

#include "absl/status/statusor.h"

namespace paritect {

using OrderedJson = nlohmann::ordered_json;

// A list of objects as {"packed_rows": N, "columns": {name: column}}. Short lists stay as they are.
OrderedJson PackRows(OrderedJson rows);

// What unpacking may come to: a file of some bytes can claim any number of rows.
struct UnpackLimits {
  std::size_t values = 20'000'000;
  std::size_t bytes = 512 << 20;
};

// Every list in `json` that was packed, as it was before. InvalidArgument: columns that do not fit each other, or more
// than the limits.
absl::StatusOr<OrderedJson> UnpackAll(const OrderedJson& json, const UnpackLimits& limits = {});

}  // namespace paritect

#endif  // PARITECT_REPORT_COLUMNS_H_
