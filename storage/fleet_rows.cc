#include "storage/fleet_rows.h"

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr int kPageRows = 512;
constexpr std::size_t kPageBytes = 4 << 20;

// SQLite has signed integers only: the bits are kept, comparisons are made here.
std::int64_t ToColumn(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

std::uint64_t FromColumn(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

// Of everything a document is: SQLite's pages have no checksum of their own.
std::int64_t SumOf(absl::string_view collection, absl::string_view key, absl::string_view value) {
  Digest digest(DigestKind::kSha256);
  digest.Update(absl::StrCat(collection, "/", key.size(), "/", key));
  digest.Update(value);
  const std::string raw = digest.Finish();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 8 && i < raw.size(); ++i) sum = sum << 8 | static_cast<unsigned char>(raw[i]);
  return ToColumn(sum);
}

std::string BatchDigest(const BatchWrite& batch) {
  Digest digest(DigestKind::kSha256);
  digest.Update(absl::StrCat(batch.node.size(), "/", batch.node, "/", batch.epoch, "/", batch.first_sequence, "/",
                             batch.last_sequence, "/", batch.received_unix_ms, "/"));
  digest.Update(batch.payload);
  return digest.Finish();
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat(what, " is damaged: its digest differs"));
}

absl::Status OutOfOrder(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the rows of ", what, " are out of order: the file is damaged"));
}

std::string NameOf(absl::string_view collection, absl::string_view key) {
  return absl::StrCat("document ", collection, " ", DisplayBytes(key));
}

// Above every key that begins with `prefix` (a key has at most 1024 bytes), and at or below the next that does not.
std::string EndOf(absl::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(1025, '\xff');
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

// The least key to look at: one bound, so that SQLite seeks it instead of filtering.
std::string BeginOf(absl::string_view prefix, absl::string_view after) {
  std::string next = after.empty() ? "" : absl::StrCat(after, absl::string_view("\0", 1));
  return std::max(next, std::string(prefix));
}

// --- writing ----------------------------------------------------------------------------------------

absl::StatusOr<bool> HasChildren(PreparedConnection& writer, const ContentWrite& node) {
  for (const std::string& child : ContentChildren(node.bytes)) {
    PARITECT_ASSIGN_OR_RETURN(const bool there, HasContentRow(writer, child, node.level - 1));
    if (!there) return false;
  }
  return true;
}

absl::Status WriteContent(PreparedConnection& writer, const ContentWrite& content, Tally& added) {
  if (content.level > 0) {
    PARITECT_ASSIGN_OR_RETURN(const bool whole, HasChildren(writer, content));
    if (!whole) return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(
      SqliteStatement * insert,
      writer.Use("INSERT INTO content(sha256, bytes, level) VALUES(?,?,?) ON CONFLICT(sha256) DO NOTHING"));
  PARITECT_RETURN_IF_ERROR(insert->BindBlob(1, content.sha256).BindBlob(2, content.bytes).Bind(3, content.level).Run());
  const auto inserted = writer.connection().changes();
  added.contents += inserted;
  if (inserted > 0 || content.level == 0) return absl::OkStatus();
  // The same bytes were here as a content without meaning.
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * raise,
                            writer.Use("UPDATE content SET level=? WHERE sha256=? AND level=0"));
  return raise->Bind(1, content.level).BindBlob(2, content.sha256).Run();
}

absl::Status RemoveDocument(PreparedConnection& writer, const DocumentWrite& document, Tally& added) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * remove, writer.Use("DELETE FROM document WHERE collection=? AND key=?"));
  PARITECT_RETURN_IF_ERROR(remove->BindText(1, document.collection).BindBlob(2, document.key).Run());
  added.documents -= writer.connection().changes();
  return absl::OkStatus();
}

// Two statements where one ("upsert") would do, because that one does not say which of the two it did.
absl::Status PutDocument(PreparedConnection& writer, const DocumentWrite& document, Tally& added) {
  const std::int64_t sum = SumOf(document.collection, document.key, *document.value);
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * insert,
                            writer.Use("INSERT INTO document(sum, value, collection, key) VALUES(?,?,?,?) "
                                       "ON CONFLICT(collection, key) DO NOTHING"));
  insert->Bind(1, sum).BindBlob(2, *document.value).BindText(3, document.collection).BindBlob(4, document.key);
  PARITECT_RETURN_IF_ERROR(insert->Run());
  if (writer.connection().changes() == 1) {
    ++added.documents;
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * update,
                            writer.Use("UPDATE document SET sum=?, value=? WHERE collection=? AND key=?"));
  update->Bind(1, sum).BindBlob(2, *document.value).BindText(3, document.collection).BindBlob(4, document.key);
  return update->Run();
}

absl::Status WriteDocument(PreparedConnection& writer, const DocumentWrite& document, Tally& added) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * drop,
                            writer.Use("DELETE FROM document_reference WHERE collection=? AND key=?"));
  PARITECT_RETURN_IF_ERROR(drop->BindText(1, document.collection).BindBlob(2, document.key).Run());
  if (!document.value) return RemoveDocument(writer, document, added);
  PARITECT_RETURN_IF_ERROR(PutDocument(writer, document, added));
  if (document.references.empty()) return absl::OkStatus();
  PARITECT_ASSIGN_OR_RETURN(
      SqliteStatement * refer,
      writer.Use("INSERT INTO document_reference(collection, key, sha256) VALUES(?,?,?) ON CONFLICT DO NOTHING"));
  for (const std::string& digest : document.references) {
    refer->BindText(1, document.collection).BindBlob(2, document.key).BindBlob(3, digest);
    PARITECT_RETURN_IF_ERROR(refer->Run());
  }
  return absl::OkStatus();
}

// The law of BatchWrite: contiguous from 1.
absl::Status AdvanceStream(PreparedConnection& writer, const BatchWrite& batch) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * find,
                            writer.Use("SELECT last_sequence FROM stream WHERE node=? AND epoch=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool known, find->BindText(1, batch.node).Bind(2, ToColumn(batch.epoch)).Step());
  const std::uint64_t last = known ? FromColumn(find->Int(0)) : 0;
  find->Reset();
  PARITECT_RETURN_IF_ERROR(CheckBatchFollows(batch, last));
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * advance,
                            writer.Use("INSERT INTO stream(node, epoch, last_sequence) VALUES(?,?,?) "
                                       "ON CONFLICT(node, epoch) DO UPDATE SET last_sequence=excluded.last_sequence"));
  advance->BindText(1, batch.node).Bind(2, ToColumn(batch.epoch)).Bind(3, ToColumn(batch.last_sequence));
  return advance->Run();
}

absl::Status WriteBatch(PreparedConnection& writer, const BatchWrite& batch) {
  PARITECT_RETURN_IF_ERROR(AdvanceStream(writer, batch));
  PARITECT_ASSIGN_OR_RETURN(
      SqliteStatement * insert,
      writer.Use("INSERT INTO batch(node, epoch, first_sequence, last_sequence, received_unix_ms, sha256, payload) "
                 "VALUES(?,?,?,?,?,?,?)"));
  insert->BindText(1, batch.node).Bind(2, ToColumn(batch.epoch)).Bind(3, ToColumn(batch.first_sequence));
  insert->Bind(4, ToColumn(batch.last_sequence)).Bind(5, batch.received_unix_ms);
  PARITECT_RETURN_IF_ERROR(insert->BindBlob(6, BatchDigest(batch)).BindBlob(7, batch.payload).Run());
  if (batch.references.empty()) return absl::OkStatus();
  const std::int64_t id = writer.connection().last_insert_id();
  PARITECT_ASSIGN_OR_RETURN(
      SqliteStatement * refer,
      writer.Use("INSERT INTO batch_reference(batch, sha256) VALUES(?,?) ON CONFLICT DO NOTHING"));
  for (const std::string& digest : batch.references) {
    PARITECT_RETURN_IF_ERROR(refer->Bind(1, id).BindBlob(2, digest).Run());
  }
  return absl::OkStatus();
}

absl::Status WriteLog(PreparedConnection& writer, const v1::AuditLogEntry& one,
                      std::optional<v1::AuditLogEntry>& tail) {
  v1::AuditLogEntry entry = one;
  ChainLogEntry(tail ? &*tail : nullptr, entry);
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * insert, writer.Use("INSERT INTO log(number, entry) VALUES(?,?)"));
  PARITECT_RETURN_IF_ERROR(insert->Bind(1, entry.number()).BindBlob(2, SerializeStable(entry)).Run());
  tail = std::move(entry);
  return absl::OkStatus();
}

absl::Status WriteLogHead(PreparedConnection& writer, v1::AuditLogEntry head) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * put,
                            writer.Use("INSERT INTO log_head(id, number, entry) VALUES(1,?,?) ON CONFLICT(id) DO "
                                       "UPDATE SET number=excluded.number, entry=excluded.entry"));
  return put->Bind(1, head.number()).BindBlob(2, SerializeStable(head)).Run();
}

// --- reading ----------------------------------------------------------------------------------------

absl::StatusOr<v1::AuditLogEntry> ParseLogEntry(std::int64_t number, absl::string_view bytes) {
  v1::AuditLogEntry entry;
  if (!ParseStable(bytes, entry)) return absl::DataLossError(absl::StrCat("log entry ", number, " cannot be read"));
  return entry;
}

absl::StatusOr<BatchWrite> BatchOf(const SqliteStatement& row) {
  BatchWrite batch;
  batch.node = row.Bytes(1);
  batch.epoch = FromColumn(row.Int(2));
  batch.first_sequence = FromColumn(row.Int(3));
  batch.last_sequence = FromColumn(row.Int(4));
  batch.received_unix_ms = row.Int(5);
  batch.payload = row.Bytes(7);
  if (BatchDigest(batch) == row.Bytes(6)) return batch;
  return Damaged(absl::StrCat("batch ", row.Int(0), " of node ", DisplayBytes(batch.node)));
}

constexpr char kAllBatches[] =
    "SELECT id, node, epoch, first_sequence, last_sequence, received_unix_ms, sha256, payload FROM batch "
    "WHERE id>? ORDER BY id";
constexpr char kNodeBatches[] =
    "SELECT id, node, epoch, first_sequence, last_sequence, received_unix_ms, sha256, payload FROM batch "
    "WHERE id>? AND node=? ORDER BY id";

}  // namespace

absl::Status WriteRows(PreparedConnection& writer, const WriteSet& set, std::optional<v1::AuditLogEntry>& log_tail,
                       Tally& added) {
  for (const ContentWrite& content : set.contents) PARITECT_RETURN_IF_ERROR(WriteContent(writer, content, added));
  for (const DocumentWrite& one : set.documents) PARITECT_RETURN_IF_ERROR(WriteDocument(writer, one, added));
  for (const BatchWrite& batch : set.batches) PARITECT_RETURN_IF_ERROR(WriteBatch(writer, batch));
  added.batches += static_cast<std::int64_t>(set.batches.size());
  for (const v1::AuditLogEntry& entry : set.log) PARITECT_RETURN_IF_ERROR(WriteLog(writer, entry, log_tail));
  return set.log.empty() ? absl::OkStatus() : WriteLogHead(writer, *log_tail);
}

absl::Status DropContentRow(PreparedConnection& writer, absl::string_view sha256, Tally& added) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * drop, writer.Use("DELETE FROM content WHERE sha256=?"));
  PARITECT_RETURN_IF_ERROR(drop->BindBlob(1, sha256).Run());
  added.contents -= writer.connection().changes();
  return absl::OkStatus();
}

absl::Status AddTally(PreparedConnection& writer, const Tally& added) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * add, writer.Use("UPDATE tally SET count=count+? WHERE name=?"));
  const std::pair<absl::string_view, std::int64_t> counts[] = {
      {"document", added.documents}, {"content", added.contents}, {"batch", added.batches}, {"commit", 1}};
  for (const auto& [name, count] : counts) {
    if (count != 0) PARITECT_RETURN_IF_ERROR(add->Bind(1, count).BindText(2, name).Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<Tally> ReadTally(PreparedConnection& reader) {
  Tally tally;
  const std::pair<absl::string_view, std::int64_t*> counts[] = {{"document", &tally.documents},
                                                                {"content", &tally.contents},
                                                                {"batch", &tally.batches},
                                                                {"commit", &tally.commits}};
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows, reader.Use("SELECT count FROM tally WHERE name=?"));
  for (const auto& [name, count] : counts) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindText(1, name).Step());
    if (!row) return absl::DataLossError(absl::StrCat("the tally of ", name, " is missing"));
    *count = rows->Int(0);
    rows->Reset();
  }
  return tally;
}

absl::StatusOr<std::int64_t> DropBatchRows(PreparedConnection& writer, std::int64_t received_before_unix_ms, int rows) {
  PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(writer.connection()));
  std::vector<std::int64_t> ids;
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * find,
                            writer.Use("SELECT id FROM batch WHERE received_unix_ms<? ORDER BY id LIMIT ?"));
  find->Bind(1, received_before_unix_ms).Bind(2, rows);
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, find->Step());
    if (!row) break;
    ids.push_back(find->Int(0));
  }
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * release, writer.Use("DELETE FROM batch_reference WHERE batch=?"));
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * drop, writer.Use("DELETE FROM batch WHERE id=?"));
  for (const std::int64_t id : ids) {
    PARITECT_RETURN_IF_ERROR(release->Bind(1, id).Run());
    PARITECT_RETURN_IF_ERROR(drop->Bind(1, id).Run());
  }
  Tally added;
  added.batches -= static_cast<std::int64_t>(ids.size());
  PARITECT_RETURN_IF_ERROR(AddTally(writer, added));
  PARITECT_RETURN_IF_ERROR(transaction.Commit());
  return static_cast<std::int64_t>(ids.size());
}

absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogTail(PreparedConnection& reader) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows,
                            reader.Use("SELECT number, entry FROM log ORDER BY number DESC LIMIT 1"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  if (!row) return std::nullopt;
  PARITECT_ASSIGN_OR_RETURN(v1::AuditLogEntry entry, ParseLogEntry(rows->Int(0), rows->Bytes(1)));
  rows->Reset();
  return entry;
}

absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogHead(PreparedConnection& reader) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows, reader.Use("SELECT number, entry FROM log_head"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  if (!row) return std::nullopt;
  PARITECT_ASSIGN_OR_RETURN(v1::AuditLogEntry entry, ParseLogEntry(rows->Int(0), rows->Bytes(1)));
  rows->Reset();
  return entry;
}

absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLogRows(PreparedConnection& reader, std::int64_t from, int limit) {
  PARITECT_RETURN_IF_ERROR(reader.connection().CheckTime());
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows,
                            reader.Use("SELECT number, entry FROM log WHERE number>=? ORDER BY number LIMIT ?"));
  rows->Bind(1, from).Bind(2, std::max(limit, 0));
  std::vector<v1::AuditLogEntry> out;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return out;
    const std::int64_t number = rows->Int(0);
    if (number < from) return OutOfOrder("the log");
    PARITECT_ASSIGN_OR_RETURN(v1::AuditLogEntry entry, ParseLogEntry(number, rows->Bytes(1)));
    // Who reads on goes by it.
    if (entry.number() != number) {
      return absl::DataLossError(
          absl::StrCat("log entry ", number, " is missing: entry ", entry.number(), " stands in its place"));
    }
    from = number + 1;
    out.push_back(std::move(entry));
  }
}

absl::StatusOr<std::optional<std::string>> ReadDocument(PreparedConnection& reader, absl::string_view collection,
                                                        absl::string_view key) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows,
                            reader.Use("SELECT sum, value FROM document WHERE collection=? AND key=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindText(1, collection).BindBlob(2, key).Step());
  if (!row) return std::nullopt;
  std::string value = rows->Bytes(1);
  if (rows->Int(0) != SumOf(collection, key, value)) return Damaged(NameOf(collection, key));
  return value;
}

absl::StatusOr<std::string> ReadContentRow(PreparedConnection& reader, absl::string_view sha256) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows, reader.Use("SELECT bytes FROM content WHERE sha256=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindBlob(1, sha256).Step());
  if (!row) return absl::NotFoundError(absl::StrCat("no content with SHA-256 ", ToHex(sha256)));
  std::string bytes = rows->Bytes(0);
  if (Sha256(bytes) != sha256) return Damaged(absl::StrCat("content ", ToHex(sha256)));
  return bytes;
}

absl::StatusOr<bool> ReadDocumentPage(PreparedConnection& reader, absl::string_view collection,
                                      absl::string_view prefix, absl::string_view after,
                                      std::vector<DocumentRow>& page) {
  PARITECT_RETURN_IF_ERROR(reader.connection().CheckTime());
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows,
                            reader.Use("SELECT key, sum, value FROM document WHERE collection=? AND key>=? AND key<? "
                                       "ORDER BY key LIMIT ?"));
  rows->BindText(1, collection).BindBlob(2, BeginOf(prefix, after)).BindBlob(3, EndOf(prefix)).Bind(4, kPageRows);
  std::string least = BeginOf(prefix, after);
  for (std::size_t bytes = 0; bytes < kPageBytes;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return page.size() == static_cast<std::size_t>(kPageRows);
    std::string key = rows->Bytes(0);
    if (key < least) return OutOfOrder(absl::StrCat("collection ", collection));
    least = BeginOf("", key);
    DocumentRow& one = page.emplace_back(DocumentRow{std::move(key), rows->Bytes(2)});
    if (rows->Int(1) != SumOf(collection, one.key, one.value)) return Damaged(NameOf(collection, one.key));
    bytes += one.key.size() + one.value.size();
  }
  return true;
}

absl::StatusOr<bool> ReadBatchPage(PreparedConnection& reader, absl::string_view node, std::int64_t& after,
                                   std::vector<BatchWrite>& page) {
  PARITECT_RETURN_IF_ERROR(reader.connection().CheckTime());
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows, reader.Use(node.empty() ? kAllBatches : kNodeBatches));
  rows->Bind(1, after);
  if (!node.empty()) rows->BindText(2, node);
  for (std::size_t bytes = 0; bytes < kPageBytes;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return false;
    if (rows->Int(0) <= after) return OutOfOrder("the batches");
    after = rows->Int(0);
    PARITECT_ASSIGN_OR_RETURN(BatchWrite batch, BatchOf(*rows));
    bytes += batch.payload.size() + sizeof(BatchWrite);
    page.push_back(std::move(batch));
  }
  return true;
}

absl::StatusOr<bool> HasContentRow(PreparedConnection& reader, absl::string_view sha256, int level) {
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows, reader.Use("SELECT level FROM content WHERE sha256=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindBlob(1, sha256).Step());
  const bool found = row && (level == 0 || rows->Int(0) == level);
  rows->Reset();
  return found;
}

absl::StatusOr<std::vector<std::string>> ContentsBelow(PreparedConnection& reader, absl::string_view sha256) {
  std::vector<std::string> below;
  std::vector<std::string> open = {std::string(sha256)};
  PARITECT_ASSIGN_OR_RETURN(SqliteStatement * rows, reader.Use("SELECT bytes FROM content WHERE sha256=? AND level>0"));
  while (!open.empty()) {
    const std::string node = std::move(open.back());
    open.pop_back();
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindBlob(1, node).Step());
    std::vector<std::string> children = row ? ContentChildren(rows->Bytes(0)) : std::vector<std::string>();
    rows->Reset();
    below.insert(below.end(), children.begin(), children.end());
    open.insert(open.end(), std::make_move_iterator(children.begin()), std::make_move_iterator(children.end()));
  }
  return below;
}

absl::StatusOr<UnreferencedRows> UnreferencedContents(PreparedConnection& reader) {
  // No index by digest: it would cost every write a random place, and this is asked rarely. `place` counts the children
  // of a node; a node of a tree has 256 at most, whoever sends more gets them kept as far as that.
  PARITECT_ASSIGN_OR_RETURN(
      SqliteStatement * rows,
      reader.Use("WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n+32 FROM place WHERE n<8161), "
                 "live(sha256) AS (SELECT sha256 FROM document_reference UNION SELECT sha256 FROM batch_reference "
                 "UNION SELECT substr(c.bytes, n, 32) FROM live JOIN content c ON c.sha256=live.sha256 AND c.level>0 "
                 "CROSS JOIN place WHERE n<length(c.bytes)) "
                 "SELECT sha256, level FROM content WHERE sha256 NOT IN (SELECT sha256 FROM live)"));
  UnreferencedRows out;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return out;
    (rows->Int(1) > 0 ? out.nodes : out.others).push_back(rows->Bytes(0));
  }
}

}  // namespace paritect
