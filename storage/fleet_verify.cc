// Verify: the pages, then every digest, then what rows promise each other.
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "storage/fleet_rows.h"

namespace paritect {
namespace {

constexpr std::size_t kProblemsMax = 200;  // what is worse than this needs no longer list
constexpr int kLogPage = 1000;

using Problems = std::vector<std::string>;

void Note(const absl::Status& status, Problems& problems) {
  if (!status.ok() && problems.size() < kProblemsMax) problems.emplace_back(status.message());
}

absl::Status CheckPages(SqlConnection& reader, Problems& problems) {
  return reader.CheckPages(problems);
}

absl::Status CheckDocuments(SqlConnection& reader, Problems& problems) {
  std::vector<std::string> collections;
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT DISTINCT collection FROM document"));
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) break;
    collections.push_back(rows->Bytes(0));
  }
  for (const std::string& collection : collections) {
    std::string after;
    for (bool more = true; more;) {
      std::vector<DocumentRow> page;
      const auto read = ReadDocumentPage(reader, collection, "", after, page);
      if (!read.ok() && page.empty()) return read.status();
      Note(read.status(), problems);
      // A damaged one ends its page: the next begins behind it.
      more = !read.ok() || *read;
      if (!page.empty()) after = page.back().key;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckContents(SqlConnection& reader, Problems& problems) {
  for (std::int64_t id = 0;;) {
    PARITECT_RETURN_IF_ERROR(reader.CheckTime());
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows,
                              reader.Use("SELECT id, sha256 FROM content WHERE id>? ORDER BY id LIMIT 1"));
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Bind(1, id).Step());
    if (!row) return absl::OkStatus();
    if (rows->Int(0) <= id) return absl::DataLossError("the contents' rows are out of order: the file is damaged");
    id = rows->Int(0);
    const std::string digest = rows->Bytes(1);
    rows->Reset();
    Note(ReadContentRow(reader, digest).status(), problems);
  }
}

absl::Status CheckBatches(SqlConnection& reader, Problems& problems) {
  for (std::int64_t after = 0;;) {
    const std::int64_t before = after;
    std::vector<BatchWrite> page;
    const auto more = ReadBatchPage(reader, "", after, page);
    Note(more.status(), problems);
    if (more.ok() && !*more) break;
    if (after == before) return more.status();  // the page itself cannot be read
  }
  PARITECT_ASSIGN_OR_RETURN(
      SqlStatement * rows,
      reader.Use("SELECT b.node FROM batch b JOIN (SELECT max(id) AS id FROM batch GROUP BY node, epoch) newest "
                 "ON newest.id=b.id LEFT JOIN stream s ON s.node=b.node AND s.epoch=b.epoch AND "
                 "s.last_sequence=b.last_sequence WHERE s.node IS NULL"));
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return absl::OkStatus();
    Note(absl::DataLossError(absl::StrCat("the last batch of node ", DisplayBytes(rows->Bytes(0)),
                                          " is not the one that its stream states")),
         problems);
  }
}

absl::Status CheckReferences(SqlConnection& reader, Problems& problems) {
  PARITECT_ASSIGN_OR_RETURN(
      SqlStatement * rows,
      reader.Use("SELECT count(*) FROM document_reference r WHERE NOT EXISTS(SELECT 1 FROM document d WHERE "
                 "d.collection=r.collection AND d.key=r.key)"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  const std::int64_t lost = row ? rows->Int(0) : 0;
  rows->Reset();
  if (lost != 0) problems.push_back(absl::StrCat(lost, " references belong to documents that are not there"));
  return absl::OkStatus();
}

absl::Status CheckTally(SqlConnection& reader, Problems& problems) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows,
                            reader.Use("SELECT name FROM tally WHERE count<>CASE name "
                                       "WHEN 'document' THEN (SELECT count(*) FROM document) "
                                       "WHEN 'content' THEN (SELECT count(*) FROM content) "
                                       "WHEN 'batch' THEN (SELECT count(*) FROM batch) ELSE count END"));
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return absl::OkStatus();
    Note(absl::DataLossError(absl::StrCat("there are not as many rows of ", rows->Bytes(0), " as were written")),
         problems);
  }
}

absl::Status CheckHeadOfLog(SqlConnection& reader, const v1::AuditLogEntry* last, Problems& problems) {
  PARITECT_ASSIGN_OR_RETURN(const std::optional<v1::AuditLogEntry> head, ReadLogHead(reader));
  const std::string problem = CheckLogHead(head ? &*head : nullptr, last);
  if (!problem.empty()) Note(absl::DataLossError(problem), problems);
  return absl::OkStatus();
}

absl::Status CheckLog(SqlConnection& reader, Problems& problems) {
  std::optional<v1::AuditLogEntry> previous;
  for (std::int64_t from = 1;;) {
    PARITECT_ASSIGN_OR_RETURN(std::vector<v1::AuditLogEntry> page, ReadLogRows(reader, from, kLogPage));
    if (page.empty()) return CheckHeadOfLog(reader, previous ? &*previous : nullptr, problems);
    for (v1::AuditLogEntry& entry : page) {
      const std::string problem = CheckLogLink(previous ? &*previous : nullptr, entry);
      if (!problem.empty()) Note(absl::DataLossError(problem), problems);
      from = entry.number() + 1;
      previous = std::move(entry);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindDamage(SqlConnection& reader, absl::FunctionRef<bool()> stop) {
  reader.SetStop([stop] { return stop(); });
  const absl::Cleanup unstopped = [&reader] { reader.SetStop(nullptr); };
  Problems problems;
  for (auto* check : {&CheckPages, &CheckDocuments, &CheckContents, &CheckBatches, &CheckReferences, &CheckTally,
                      &CheckLog}) {
    const absl::Status status = check(reader, problems);
    reader.ResetAll();
    // What cannot be read is a finding; only the lack of time is an error.
    if (stop()) return absl::CancelledError("stopped before everything was read");
    if (absl::IsDeadlineExceeded(status)) return status;
    Note(status, problems);
  }
  return problems;
}

}  // namespace paritect
