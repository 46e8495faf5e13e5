// A sorted table of LevelDB's form: what the index of a TensorFlow bundle is.
// Source: google/leveldb, doc/table_format.md.
#ifndef PARITECT_FORMATS_WEIGHTS_SORTED_TABLE_H_
#define PARITECT_FORMATS_WEIGHTS_SORTED_TABLE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/weights/random_bytes.h"

namespace paritect {

// Whether a file ends as such a table does; `tail`: its last 8 bytes at least.
bool EndsAsSortedTable(absl::string_view tail);

// Calls `entry` for each key in the table's order. DataLoss: damaged (checksums are compared); Unimplemented: blocks
// compressed in another way than snappy; the errors of `entry`.
absl::Status ReadSortedTable(RandomBytes& table,
                             absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> entry);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_SORTED_TABLE_H_
