// All rows of a fleet's database, from one database to another of any kind.
#ifndef PARITECT_STORAGE_FLEET_COPY_H_
#define PARITECT_STORAGE_FLEET_COPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/sql.h"

namespace paritect {

struct TableContents {
  std::string table;
  std::int64_t rows = 0;
  std::string sha256;  // raw; over every column of every row in the order of the key
};

// Told now and then, from the caller's thread: rows of that table that were written, or read again, so far.
using CopyProgress = absl::FunctionRef<void(absl::string_view table, std::int64_t rows)>;

// `from` must not change meanwhile (a snapshot, or nobody writes). Pages of rows, each in one transaction of `to`; of a
// table it begins after the last row that `to` has, so that a copy that was interrupted goes on where it was. `to` has
// the tables already.
absl::Status CopyTables(SqlConnection& from, SqlConnection& to, CopyProgress progress);

// What can be compared of two databases, table by table.
absl::StatusOr<std::vector<TableContents>> ReadTables(SqlConnection& reader, CopyProgress progress);

// All of `from` as a database of one file at `path`, fsynced and put into place. AlreadyExists: something is there.
absl::Status CopyToFile(SqlConnection& from, absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_COPY_H_
