// The statements of the fleet's schema: rows in, rows out, for one connection that the caller has for itself. In the
// SQL that SQLite and PostgreSQL share, so that each statement is written once.
#ifndef PARITECT_STORAGE_FLEET_ROWS_H_
#define PARITECT_STORAGE_FLEET_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "storage/fleet_store.h"
#include "storage/sql.h"

namespace paritect {

struct DocumentRow {
  std::string key;
  std::string value;
};

// How many rows there are, or by how many there are more: counting them would read the whole table.
struct Tally {
  std::int64_t documents = 0;
  std::int64_t contents = 0;
  std::int64_t batches = 0;
  std::int64_t commits = 0;  // as a tally that is added, AddTally counts it by itself
};

// These run within a transaction of the caller, who adds the tally before it commits. What they write is queued: an
// error may be told by AddTally. `log_tail`: the last log entry, moved on.
absl::Status WriteRows(SqlConnection& writer, absl::Span<const WriteSet* const> sets,
                       std::optional<v1::AuditLogEntry>& log_tail, Tally& added);
// `dropped`: one more where it was there, once the writer's Finish has returned.
absl::Status DropContentRow(SqlConnection& writer, absl::string_view sha256, std::int64_t& dropped);
// At most `rows` of them; how many says the tally.
absl::Status DropBatchRows(SqlConnection& writer, std::int64_t received_before_unix_ms, int rows, Tally& added);
// With all that was queued before.
absl::Status AddTally(SqlConnection& writer, const Tally& added);

// What the log goes on after: where its end was cut off, that which was written, so that the hole stays, however much
// follows.
absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogEnd(SqlConnection& reader);
// The newest entry as it is kept apart from the log.
absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogHead(SqlConnection& reader);
absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLogRows(SqlConnection& reader, std::int64_t from, int limit);
absl::StatusOr<std::int64_t> ReadLastLogNumber(SqlConnection& reader);  // 0: none
absl::StatusOr<std::optional<std::string>> ReadDocument(SqlConnection& reader, absl::string_view collection,
                                                        absl::string_view key);
absl::StatusOr<Tally> ReadTally(SqlConnection& reader);
absl::StatusOr<std::string> ReadContentRow(SqlConnection& reader, absl::string_view sha256);

// One page, bounded in rows and bytes; whether there may be more. Rows rise from page to page: DataLoss where they do
// not (a flipped bit of a key), so that who reads on always comes to an end.
absl::StatusOr<bool> ReadDocumentPage(SqlConnection& reader, absl::string_view collection,
                                      absl::string_view prefix, absl::string_view after,
                                      std::vector<DocumentRow>& page);
absl::StatusOr<bool> ReadBatchPage(SqlConnection& reader, absl::string_view node, std::int64_t& after,
                                   std::vector<BatchWrite>& page);

// level 0: as any content.
absl::StatusOr<bool> HasContentRow(SqlConnection& reader, absl::string_view sha256, int level);
// Raw digests of all that stands below a node; none below another content.
absl::StatusOr<std::vector<std::string>> ContentsBelow(SqlConnection& reader, absl::string_view sha256);

// Raw digests of contents that neither a document nor a batch refers to, nor a node that is referred to.
struct UnreferencedRows {
  std::vector<std::string> nodes;
  std::vector<std::string> others;
};
absl::StatusOr<UnreferencedRows> UnreferencedContents(SqlConnection& reader);

// Everything that can be found wrong, in words. `stop` as in FleetStore::Verify; DeadlineExceeded: the connection's
// time limit.
absl::StatusOr<std::vector<std::string>> FindDamage(SqlConnection& reader, absl::FunctionRef<bool()> stop);

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_ROWS_H_
