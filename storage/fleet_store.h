// The contract of the server's store: documents of the fleet (nodes, tokens, audits, runs, ...), the agents' batches,
// content by digest, and the log of calls. Generic: a new kind of document does not touch storage/.
//
// Commit is all or nothing and durable when it returns; what is committed is read by the next call. Thread-safe: any
// thread may call anything. Commits wait for each other, reads wait for nobody. Errors: ResourceExhausted (disk full, a
// value above the limit; nothing was changed, and it may succeed later), DataLoss (what is stored is damaged),
// FailedPrecondition (not a fleet store, or of a later version), Unavailable (in use by another process),
// DeadlineExceeded (a read took longer than its limit), InvalidArgument (a write that breaks a rule below), Internal.
#ifndef PARITECT_STORAGE_FLEET_STORE_H_
#define PARITECT_STORAGE_FLEET_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

// One document put (value) or taken away (no value). `references`: raw SHA-256 of the contents it stands for; a content
// that no document refers to is dropped by Compact.
struct DocumentWrite {
  std::string collection;  // [a-z_]+
  std::string key;         // bytes, 1 to 1024; documents are scanned in the order of their keys' bytes
  std::optional<std::string> value;
  std::vector<std::string> references;
};

// Content by its digest; equal content is kept once however many write it.
//
// A node of a tree (formats/content_tree.h) consists of its children's digests, which are one level lower. One that is
// there stands for all below it: Commit leaves out a node of which a child is not there at its level (in the store, or
// before it in the same sets), and what a node refers to is kept as long as the node is.
struct ContentWrite {
  std::string sha256;  // raw; the caller has verified it
  std::string bytes;
  int level = 0;  // of a node, from 1; 0: no node
};

// What an agent delivered, kept in arrival order: the durable truth that rows are derived from.
//
// The batches of a node's epoch are contiguous: the first begins at sequence 1, each other where the one before ended.
// Commit refuses one that begins earlier (AlreadyExists: it is there) or later (OutOfRange: one before it is missing),
// so that no fault of a caller doubles a record or skips one. `references` keep contents as a document's do,
// until DropBatches: the parts of a piece that is still on its way are not dropped.
struct BatchWrite {
  std::string node;
  std::uint64_t epoch = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  std::int64_t received_unix_ms = 0;
  std::string payload;                  // a serialized Batch whose content parts are replaced by their digests
  std::vector<std::string> references;  // not read back by ScanBatches
};

struct WriteSet {
  std::vector<DocumentWrite> documents;
  std::vector<ContentWrite> contents;
  std::vector<BatchWrite> batches;
  // Number and hashes are given by the store: the chain has one writer.
  std::vector<v1::AuditLogEntry> log;

  bool empty() const { return documents.empty() && contents.empty() && batches.empty() && log.empty(); }
};

struct FleetStoreStats {
  std::int64_t file_bytes = 0;
  std::int64_t wal_bytes = 0;
  std::int64_t documents = 0;
  std::int64_t contents = 0;
  std::int64_t batches = 0;
  std::int64_t log_entries = 0;
  v1::LogHead log_head;  // of the newest entry; number 0: none
  // What opening found to contradict the mark beside the database, in words; Verify tells it too.
  std::vector<std::string> problems;
};

class FleetStore {
 public:
  virtual ~FleetStore() = default;

  // All of them in one transaction, in order; within a set contents, documents, batches, log.
  virtual absl::Status Commit(absl::Span<const WriteSet* const> sets) = 0;

  virtual absl::StatusOr<std::optional<std::string>> Get(absl::string_view collection, absl::string_view key) = 0;
  // Documents whose key begins with `prefix`, in key order, from `after` (exclusive; empty: from the first); `visit`
  // returns false to stop. Nothing is held open while `visit` runs: rows are read in pages, each a snapshot; a
  // document written meanwhile may or may not be seen (never twice).
  virtual absl::Status Scan(absl::string_view collection, absl::string_view prefix, absl::string_view after,
                            absl::FunctionRef<bool(absl::string_view key, absl::string_view value)> visit) = 0;

  virtual absl::StatusOr<std::string> Content(absl::string_view sha256) = 0;  // NotFound; DataLoss: digest differs
  virtual absl::StatusOr<bool> HasContent(absl::string_view sha256) = 0;
  // Whether it is there as a node of that level (from 1), with everything below it.
  virtual absl::StatusOr<bool> HasNode(absl::string_view sha256, int level) = 0;

  // Batches of a node (all nodes: ""), in arrival order; pages as in Scan.
  virtual absl::Status ScanBatches(absl::string_view node, absl::FunctionRef<bool(const BatchWrite&)> visit) = 0;
  // Batches received before that time, of nodes and epochs whose watermark stays; returns how many.
  virtual absl::StatusOr<std::int64_t> DropBatches(std::int64_t received_before_unix_ms) = 0;

  // Entries from number `from` (1-based), at most `limit`.
  virtual absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLog(std::int64_t from, int limit) = 0;

  // A whole, consistent copy in one file, made while others write; fsynced, put into place. AlreadyExists: something
  // is there, and stays as it is.
  virtual absl::Status Backup(absl::string_view path) = 0;
  // Problems found, in words: pages, digests of contents and batches, the log's chain. Empty: whole. It ends whatever
  // the damage is. `stop` is asked now and then, from this thread; where it says true: Cancelled.
  virtual absl::StatusOr<std::vector<std::string>> Verify(absl::FunctionRef<bool()> stop) = 0;
  absl::StatusOr<std::vector<std::string>> Verify() {
    return Verify([] { return false; });
  }
  // Drops contents without reference and gives space back to the file system. Commits go on meanwhile.
  virtual absl::Status Compact() = 0;
  // Housekeeping that is due (a checkpoint); cheap, for idle moments.
  virtual absl::Status Maintain() { return absl::OkStatus(); }
  virtual absl::StatusOr<FleetStoreStats> Stats() = 0;
};

// The digests that a node consists of.
std::vector<std::string> ContentChildren(absl::string_view node);

// A write set that keeps the rules above: names, sizes, digests of 32 bytes. InvalidArgument, or ResourceExhausted.
absl::Status CheckWriteSet(const WriteSet& set);
// The law of contiguous batches; `last_sequence` is the stored one, 0: none.
absl::Status CheckBatchFollows(const BatchWrite& batch, std::uint64_t last_sequence);

// What opening does where the mark beside the database (storage/store_mark.h) says that commits were lost.
enum class LostCommits {
  kRefuse,  // DataLoss
  kTell,    // in FleetStoreStats.problems and by Verify; the mark stays. Only to look at it
  kAccept,  // the mark begins anew from what is there
};

struct FleetStoreOptions {
  bool marked = false;  // keeps a mark beside the database
  LostCommits lost_commits = LostCommits::kRefuse;
};

struct FleetBackend {
  absl::string_view scheme;  // "sqlite", "memory"
  absl::StatusOr<std::unique_ptr<FleetStore>> (*open)(absl::string_view place, const FleetStoreOptions& options);
};

// "sqlite:/path/to/file", "memory:". InvalidArgument: no such scheme.
absl::StatusOr<std::unique_ptr<FleetStore>> OpenFleetStore(absl::string_view uri,
                                                           const FleetStoreOptions& options = {});

// The chain's law, for stores and for whoever verifies a log: sets number, previous and hash of the entry that follows
// `previous` (nullptr: the first).
void ChainLogEntry(const v1::AuditLogEntry* previous, v1::AuditLogEntry& entry);
// Whether the log's last entry is the one that is kept apart from it; nullptr: none. Empty, or what is wrong.
std::string CheckLogHead(const v1::AuditLogEntry* head, const v1::AuditLogEntry* last);
// Empty, or what is wrong between two neighbours.
std::string CheckLogLink(const v1::AuditLogEntry* previous, const v1::AuditLogEntry& entry);

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_STORE_H_
