#include "storage/fleet_sql.h"

#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr int kDropRows = 500;  // in one transaction, so that commits get their turn

}  // namespace

absl::Status FleetSql::Commit(absl::Span<const WriteSet* const> sets) {
  for (const WriteSet* set : sets) PARITECT_RETURN_IF_ERROR(CheckWriteSet(*set));
  commits_waiting_.fetch_add(1);
  absl::MutexLock lock(&writer_mutex_);
  commits_waiting_.fetch_sub(1);
  const std::optional<v1::AuditLogEntry> before = log_tail_;
  const absl::Status status = Transact([&](SqlConnection& writer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) {
    std::optional<v1::AuditLogEntry> tail = before;
    Tally added;
    PARITECT_RETURN_IF_ERROR(WriteRows(writer, sets, tail, added));
    PARITECT_RETURN_IF_ERROR(AddTally(writer, added));
    // Before the end of the transaction: what cannot be noted is not written either.
    if (touched_ != nullptr) PARITECT_RETURN_IF_ERROR(NoteTouched(writer, sets));
    log_tail_ = std::move(tail);
    return absl::OkStatus();
  });
  if (!status.ok()) log_tail_ = before;
  return status;
}

absl::Status FleetSql::Look(std::int64_t time_limit_ms, Read read) {
  for (bool again = false;; again = true) {
    PARITECT_ASSIGN_OR_RETURN(const SqlPool::Lease reader, readers_.Take(time_limit_ms));
    const absl::Status status = read(*reader);
    if (status.ok() || again || !reader->broken()) return status;
    readers_.CloseIdle();
  }
}

absl::StatusOr<std::optional<std::string>> FleetSql::Get(absl::string_view collection, absl::string_view key) {
  std::optional<std::string> value;
  PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(value, ReadDocument(reader, collection, key));
    return absl::OkStatus();
  }));
  return value;
}

absl::Status FleetSql::Scan(absl::string_view collection, absl::string_view prefix, absl::string_view after,
                            absl::FunctionRef<bool(absl::string_view, absl::string_view)> visit) {
  std::string from(after);
  for (bool more = true; more;) {
    std::vector<DocumentRow> page;
    PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
      page.clear();
      PARITECT_ASSIGN_OR_RETURN(more, ReadDocumentPage(reader, collection, prefix, from, page));
      return absl::OkStatus();
    }));
    for (const DocumentRow& row : page) {
      if (!visit(row.key, row.value)) return absl::OkStatus();
    }
    if (!page.empty()) from = std::move(page.back().key);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FleetSql::Content(absl::string_view sha256) {
  std::string bytes;
  PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(bytes, ReadContentRow(reader, sha256));
    return absl::OkStatus();
  }));
  return bytes;
}

absl::StatusOr<bool> FleetSql::HasContent(absl::string_view sha256) {
  return HasNode(sha256, 0);
}

absl::StatusOr<bool> FleetSql::HasNode(absl::string_view sha256, int level) {
  bool there = false;
  PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(there, HasContentRow(reader, sha256, level));
    return absl::OkStatus();
  }));
  return there;
}

absl::Status FleetSql::ScanBatches(absl::string_view node, absl::FunctionRef<bool(const BatchWrite&)> visit) {
  std::int64_t after = 0;
  for (bool more = true; more;) {
    std::vector<BatchWrite> page;
    const std::int64_t from = after;
    PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
      page.clear();
      after = from;
      PARITECT_ASSIGN_OR_RETURN(more, ReadBatchPage(reader, node, after, page));
      return absl::OkStatus();
    }));
    for (const BatchWrite& batch : page) {
      if (!visit(batch)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> FleetSql::DropBatches(std::int64_t received_before_unix_ms) {
  absl::MutexLock lock(&writer_mutex_);
  for (std::int64_t dropped = 0;;) {
    std::int64_t rows = 0;
    const absl::Status status = Transact([&](SqlConnection& writer) {
      Tally added;
      PARITECT_RETURN_IF_ERROR(DropBatchRows(writer, received_before_unix_ms, kDropRows, added));
      rows = -added.batches;
      return AddTally(writer, added);
    });
    if (!status.ok()) return status;
    if (rows == 0) return dropped;
    dropped += rows;
    LetOthersWrite();
  }
}

absl::StatusOr<std::vector<v1::AuditLogEntry>> FleetSql::ReadLog(std::int64_t from, int limit) {
  std::vector<v1::AuditLogEntry> entries;
  PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(entries, ReadLogRows(reader, from, limit));
    return absl::OkStatus();
  }));
  return entries;
}

absl::StatusOr<std::vector<std::string>> FleetSql::Verify(absl::FunctionRef<bool()> stop) {
  std::vector<std::string> problems;
  PARITECT_RETURN_IF_ERROR(Look(kVerifyLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(problems, FindDamage(reader, stop));
    return absl::OkStatus();
  }));
  problems.insert(problems.begin(), problems_.begin(), problems_.end());
  return problems;
}

void FleetSql::LetOthersWrite() {
  writer_mutex_.Unlock();
  for (int i = 0; i < 100 && commits_waiting_.load() > 0; ++i) absl::SleepFor(absl::Microseconds(500));
  writer_mutex_.Lock();
}

absl::Status FleetSql::NoteTouched(SqlConnection& writer, absl::Span<const WriteSet* const> sets) {
  const auto touch = [this, &writer](const std::string& digest)
                         ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) -> absl::Status {
    if (touched_->contains(digest)) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> below, ContentsBelow(writer, digest));
    touched_->insert(below.begin(), below.end());
    touched_->insert(digest);
    return absl::OkStatus();
  };
  for (const WriteSet* set : sets) {
    for (const ContentWrite& content : set->contents) PARITECT_RETURN_IF_ERROR(touch(content.sha256));
    for (const DocumentWrite& one : set->documents) {
      for (const std::string& digest : one.references) PARITECT_RETURN_IF_ERROR(touch(digest));
    }
    for (const BatchWrite& one : set->batches) {
      for (const std::string& digest : one.references) PARITECT_RETURN_IF_ERROR(touch(digest));
    }
  }
  return absl::OkStatus();
}

absl::Status FleetSql::Compact() {
  absl::MutexLock one_at_a_time(&housekeeping_mutex_);
  {
    absl::MutexLock lock(&writer_mutex_);
    touched_ = std::make_unique<absl::flat_hash_set<std::string>>();
  }
  UnreferencedRows unused;
  absl::Status status = Look(kVerifyLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(unused, UnreferencedContents(reader));
    return absl::OkStatus();
  });
  // A node goes before what is below it, whatever happens in between: one that is there stands for all below. Nodes
  // are few: they go in one step, so that none outlives a lower one.
  if (status.ok()) status = DropContents(unused.nodes, unused.nodes.size());
  if (status.ok()) status = DropContents(unused.others, kDropRows);
  {
    absl::MutexLock lock(&writer_mutex_);
    touched_ = nullptr;
  }
  PARITECT_RETURN_IF_ERROR(status);
  return GiveSpaceBack();
}

absl::Status FleetSql::DropContents(const std::vector<std::string>& digests, std::size_t at_once) {
  absl::MutexLock lock(&writer_mutex_);
  for (std::size_t from = 0; from < digests.size(); from += at_once) {
    const std::size_t to = std::min(digests.size(), from + at_once);
    const absl::Status status = Transact([&](SqlConnection& writer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) {
      std::int64_t dropped = 0;
      for (std::size_t i = from; i < to; ++i) {
        if (!touched_->contains(digests[i])) PARITECT_RETURN_IF_ERROR(DropContentRow(writer, digests[i], dropped));
      }
      PARITECT_RETURN_IF_ERROR(writer.Finish());
      Tally added;
      added.contents -= dropped;
      return AddTally(writer, added);
    });
    if (!status.ok()) return status;
    LetOthersWrite();
  }
  return absl::OkStatus();
}

absl::StatusOr<FleetStoreStats> FleetSql::Stats() {
  FleetStoreStats stats;
  PARITECT_RETURN_IF_ERROR(Look(kReadLimitMs, [&](SqlConnection& reader) {
    PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(reader));
    stats.documents = tally.documents;
    stats.contents = tally.contents;
    stats.batches = tally.batches;
    PARITECT_ASSIGN_OR_RETURN(stats.log_entries, ReadLastLogNumber(reader));
    PARITECT_ASSIGN_OR_RETURN(const std::optional<v1::AuditLogEntry> last, ReadLogHead(reader));
    if (last) stats.log_head.set_number(last->number());
    if (last) stats.log_head.set_hash(last->hash());
    return absl::OkStatus();
  }));
  PARITECT_RETURN_IF_ERROR(AddSizes(stats));
  stats.problems = problems_;
  return stats;
}

}  // namespace paritect
