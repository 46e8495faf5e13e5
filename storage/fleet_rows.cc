#include "storage/fleet_rows.h"

#include <unordered_map>

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

// The sets of one transaction. First all is looked up that decides what is written, then all is written: two exchanges
// with a database across a network, however many rows there are. What the writing itself changes of what was looked up
// is followed here.
class SetWriter {
 public:
  SetWriter(SqlConnection& writer, std::optional<v1::AuditLogEntry>& log_tail, Tally& added)
      : writer_(writer), log_tail_(log_tail), added_(added) {}

  absl::Status Write(absl::Span<const WriteSet* const> sets) {
    PARITECT_RETURN_IF_ERROR(LookUpNumbers());
    for (const WriteSet* set : sets) PARITECT_RETURN_IF_ERROR(LookUp(*set));
    PARITECT_RETURN_IF_ERROR(writer_.Finish());
    bool logged = false;
    for (const WriteSet* set : sets) {
      for (const ContentWrite& content : set->contents) PARITECT_RETURN_IF_ERROR(WriteContent(content));
      for (const DocumentWrite& one : set->documents) PARITECT_RETURN_IF_ERROR(WriteDocument(one));
      for (const BatchWrite& batch : set->batches) PARITECT_RETURN_IF_ERROR(WriteBatch(batch));
      for (const v1::AuditLogEntry& entry : set->log) PARITECT_RETURN_IF_ERROR(WriteLog(entry));
      logged = logged || !set->log.empty();
    }
    PARITECT_RETURN_IF_ERROR(WriteStreams());
    return logged ? WriteLogHead() : absl::OkStatus();
  }

 private:
  static constexpr int kAbsent = -1;  // as a level
  struct Stream {
    std::uint64_t last = 0;
    bool advanced = false;
  };

  absl::Status LookUp(const WriteSet& set) {
    for (const ContentWrite& content : set.contents) {
      PARITECT_RETURN_IF_ERROR(LookUpContent(content.sha256));
      if (content.level == 0) continue;
      for (const std::string& child : ContentChildren(content.bytes)) PARITECT_RETURN_IF_ERROR(LookUpContent(child));
    }
    for (const DocumentWrite& one : set.documents) PARITECT_RETURN_IF_ERROR(LookUpDocument(one));
    for (const BatchWrite& batch : set.batches) PARITECT_RETURN_IF_ERROR(LookUpStream(batch));
    return absl::OkStatus();
  }

  // There is one writer: it numbers the rows.
  absl::Status LookUpNumbers() {
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * batch, writer_.Use("SELECT max(id) FROM batch"));
    PARITECT_RETURN_IF_ERROR(batch->Queue(nullptr, [this](const SqlRow& row) { last_batch_ = row.Int(0); }));
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * content, writer_.Use("SELECT max(id) FROM content"));
    return content->Queue(nullptr, [this](const SqlRow& row) { last_content_ = row.Int(0); });
  }

  // Nodes of maps stay where they are.
  absl::Status LookUpContent(const std::string& sha256) {
    const auto [found, fresh] = levels_.emplace(sha256, kAbsent);
    if (!fresh) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * find, writer_.Use("SELECT level FROM content WHERE sha256=?"));
    int* const level = &found->second;
    return find->BindBlob(1, sha256).Queue(nullptr,
                                           [level](const SqlRow& row) { *level = static_cast<int>(row.Int(0)); });
  }

  absl::Status LookUpDocument(const DocumentWrite& one) {
    const auto [found, fresh] = documents_.emplace(std::make_pair(one.collection, one.key), false);
    if (!fresh) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * find,
                              writer_.Use("SELECT sum FROM document WHERE collection=? AND key=?"));
    bool* const there = &found->second;
    return find->BindText(1, one.collection).BindBlob(2, one.key).Queue(nullptr, [there](const SqlRow&) {
      *there = true;
    });
  }

  absl::Status LookUpStream(const BatchWrite& batch) {
    const auto [found, fresh] = streams_.emplace(std::make_pair(batch.node, batch.epoch), Stream());
    if (!fresh) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * find,
                              writer_.Use("SELECT last_sequence FROM stream WHERE node=? AND epoch=?"));
    std::uint64_t* const last = &found->second.last;
    return find->BindText(1, batch.node).Bind(2, ToColumn(batch.epoch)).Queue(nullptr, [last](const SqlRow& row) {
      *last = FromColumn(row.Int(0));
    });
  }

  absl::Status WriteContent(const ContentWrite& content) {
    if (content.level > 0) {
      for (const std::string& child : ContentChildren(content.bytes)) {
        if (levels_[child] != content.level - 1) return absl::OkStatus();
      }
    }
    int& level = levels_[content.sha256];
    if (level == kAbsent) {
      level = content.level;
      ++added_.contents;
      PARITECT_ASSIGN_OR_RETURN(SqlStatement * insert,
                                writer_.Use("INSERT INTO content(id, sha256, bytes, level) VALUES(?,?,?,?)"));
      insert->Bind(1, ++last_content_).BindBlob(2, content.sha256).BindBlob(3, content.bytes);
      return insert->Bind(4, content.level).Queue();
    }
    if (level > 0 || content.level == 0) return absl::OkStatus();
    // The same bytes were here as a content without meaning.
    level = content.level;
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * raise, writer_.Use("UPDATE content SET level=? WHERE sha256=?"));
    return raise->Bind(1, content.level).BindBlob(2, content.sha256).Queue();
  }

  absl::Status WriteDocument(const DocumentWrite& one) {
    bool& there = documents_[{one.collection, one.key}];
    if (there) {
      PARITECT_ASSIGN_OR_RETURN(SqlStatement * release,
                                writer_.Use("DELETE FROM document_reference WHERE collection=? AND key=?"));
      PARITECT_RETURN_IF_ERROR(release->BindText(1, one.collection).BindBlob(2, one.key).Queue());
    }
    added_.documents += (one.value ? 1 : 0) - (there ? 1 : 0);
    if (!one.value) {
      there = false;
      PARITECT_ASSIGN_OR_RETURN(SqlStatement * remove,
                                writer_.Use("DELETE FROM document WHERE collection=? AND key=?"));
      return remove->BindText(1, one.collection).BindBlob(2, one.key).Queue();
    }
    there = true;
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * put,
                              writer_.Use("INSERT INTO document(collection, key, sum, value) VALUES(?,?,?,?) ON "
                                          "CONFLICT(collection, key) DO UPDATE SET sum=excluded.sum, "
                                          "value=excluded.value"));
    put->BindText(1, one.collection).BindBlob(2, one.key).Bind(3, SumOf(one.collection, one.key, *one.value));
    PARITECT_RETURN_IF_ERROR(put->BindBlob(4, *one.value).Queue());
    if (one.references.empty()) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(
        SqlStatement * refer,
        writer_.Use("INSERT INTO document_reference(collection, key, sha256) VALUES(?,?,?) ON CONFLICT DO NOTHING"));
    for (const std::string& digest : one.references) {
      PARITECT_RETURN_IF_ERROR(refer->BindText(1, one.collection).BindBlob(2, one.key).BindBlob(3, digest).Queue());
    }
    return absl::OkStatus();
  }

  // The law of BatchWrite: contiguous from 1.
  absl::Status WriteBatch(const BatchWrite& batch) {
    Stream& stream = streams_[{batch.node, batch.epoch}];
    PARITECT_RETURN_IF_ERROR(CheckBatchFollows(batch, stream.last));
    stream = {batch.last_sequence, true};
    ++added_.batches;
    const std::int64_t id = ++last_batch_;
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * insert,
                              writer_.Use("INSERT INTO batch(id, node, epoch, first_sequence, last_sequence, "
                                          "received_unix_ms, sha256, payload) VALUES(?,?,?,?,?,?,?,?)"));
    insert->Bind(1, id).BindText(2, batch.node).Bind(3, ToColumn(batch.epoch)).Bind(4, ToColumn(batch.first_sequence));
    insert->Bind(5, ToColumn(batch.last_sequence)).Bind(6, batch.received_unix_ms);
    PARITECT_RETURN_IF_ERROR(insert->BindBlob(7, BatchDigest(batch)).BindBlob(8, batch.payload).Queue());
    if (batch.references.empty()) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(
        SqlStatement * refer,
        writer_.Use("INSERT INTO batch_reference(batch, sha256) VALUES(?,?) ON CONFLICT DO NOTHING"));
    for (const std::string& digest : batch.references) {
      PARITECT_RETURN_IF_ERROR(refer->Bind(1, id).BindBlob(2, digest).Queue());
    }
    return absl::OkStatus();
  }

  absl::Status WriteStreams() {
    for (const auto& [key, stream] : streams_) {
      if (!stream.advanced) continue;
      PARITECT_ASSIGN_OR_RETURN(
          SqlStatement * advance,
          writer_.Use("INSERT INTO stream(node, epoch, last_sequence) VALUES(?,?,?) "
                      "ON CONFLICT(node, epoch) DO UPDATE SET last_sequence=excluded.last_sequence"));
      advance->BindText(1, key.first).Bind(2, ToColumn(key.second)).Bind(3, ToColumn(stream.last));
      PARITECT_RETURN_IF_ERROR(advance->Queue());
    }
    return absl::OkStatus();
  }

  absl::Status WriteLog(const v1::AuditLogEntry& one) {
    v1::AuditLogEntry entry = one;
    ChainLogEntry(log_tail_ ? &*log_tail_ : nullptr, entry);
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * insert, writer_.Use("INSERT INTO log(number, entry) VALUES(?,?)"));
    PARITECT_RETURN_IF_ERROR(insert->Bind(1, entry.number()).BindBlob(2, SerializeStable(entry)).Queue());
    log_tail_ = std::move(entry);
    return absl::OkStatus();
  }

  absl::Status WriteLogHead() {
    v1::AuditLogEntry head = *log_tail_;
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * put,
                              writer_.Use("INSERT INTO log_head(id, number, entry) VALUES(1,?,?) ON CONFLICT(id) DO "
                                          "UPDATE SET number=excluded.number, entry=excluded.entry"));
    return put->Bind(1, head.number()).BindBlob(2, SerializeStable(head)).Queue();
  }

  SqlConnection& writer_;
  std::optional<v1::AuditLogEntry>& log_tail_;
  Tally& added_;
  std::unordered_map<std::string, int> levels_;                      // of contents: kAbsent, 0, or a node's
  std::map<std::pair<std::string, std::string>, bool> documents_;    // collection, key: is there
  std::map<std::pair<std::string, std::uint64_t>, Stream> streams_;  // node, epoch
  std::int64_t last_batch_ = 0;                                      // its id
  std::int64_t last_content_ = 0;
};

// --- reading ----------------------------------------------------------------------------------------

absl::StatusOr<v1::AuditLogEntry> ParseLogEntry(std::int64_t number, absl::string_view bytes) {
  v1::AuditLogEntry entry;
  if (!ParseStable(bytes, entry)) return absl::DataLossError(absl::StrCat("log entry ", number, " cannot be read"));
  return entry;
}

absl::StatusOr<BatchWrite> BatchOf(const SqlRow& row) {
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

absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogTail(SqlConnection& reader) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows,
                            reader.Use("SELECT number, entry FROM log ORDER BY number DESC LIMIT 1"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  if (!row) return std::nullopt;
  PARITECT_ASSIGN_OR_RETURN(v1::AuditLogEntry entry, ParseLogEntry(rows->Int(0), rows->Bytes(1)));
  rows->Reset();
  return entry;
}

}  // namespace

absl::Status WriteRows(SqlConnection& writer, absl::Span<const WriteSet* const> sets,
                       std::optional<v1::AuditLogEntry>& log_tail, Tally& added) {
  return SetWriter(writer, log_tail, added).Write(sets);
}

absl::Status DropContentRow(SqlConnection& writer, absl::string_view sha256, std::int64_t& dropped) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * drop, writer.Use("DELETE FROM content WHERE sha256=?"));
  return drop->BindBlob(1, sha256).Queue(&dropped);
}

absl::Status AddTally(SqlConnection& writer, const Tally& added) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * add, writer.Use("UPDATE tally SET count=count+? WHERE name=?"));
  const std::pair<absl::string_view, std::int64_t> counts[] = {
      {"document", added.documents}, {"content", added.contents}, {"batch", added.batches}, {"commit", 1}};
  for (const auto& [name, count] : counts) {
    if (count != 0) PARITECT_RETURN_IF_ERROR(add->Bind(1, count).BindText(2, name).Queue());
  }
  return writer.Finish();
}

absl::StatusOr<Tally> ReadTally(SqlConnection& reader) {
  Tally tally;
  const std::pair<absl::string_view, std::int64_t*> counts[] = {{"document", &tally.documents},
                                                                {"content", &tally.contents},
                                                                {"batch", &tally.batches},
                                                                {"commit", &tally.commits}};
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT count FROM tally WHERE name=?"));
  for (const auto& [name, count] : counts) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindText(1, name).Step());
    if (!row) return absl::DataLossError(absl::StrCat("the tally of ", name, " is missing"));
    *count = rows->Int(0);
    rows->Reset();
  }
  return tally;
}

absl::Status DropBatchRows(SqlConnection& writer, std::int64_t received_before_unix_ms, int rows, Tally& added) {
  std::vector<std::int64_t> ids;
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * find,
                            writer.Use("SELECT id FROM batch WHERE received_unix_ms<? ORDER BY id LIMIT ?"));
  find->Bind(1, received_before_unix_ms).Bind(2, rows);
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, find->Step());
    if (!row) break;
    ids.push_back(find->Int(0));
  }
  for (const std::int64_t id : ids) {
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * release, writer.Use("DELETE FROM batch_reference WHERE batch=?"));
    PARITECT_RETURN_IF_ERROR(release->Bind(1, id).Queue());
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * drop, writer.Use("DELETE FROM batch WHERE id=?"));
    PARITECT_RETURN_IF_ERROR(drop->Bind(1, id).Queue());
  }
  added.batches -= static_cast<std::int64_t>(ids.size());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogHead(SqlConnection& reader) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT number, entry FROM log_head"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  if (!row) return std::nullopt;
  PARITECT_ASSIGN_OR_RETURN(v1::AuditLogEntry entry, ParseLogEntry(rows->Int(0), rows->Bytes(1)));
  rows->Reset();
  return entry;
}

absl::StatusOr<std::optional<v1::AuditLogEntry>> ReadLogEnd(SqlConnection& reader) {
  PARITECT_ASSIGN_OR_RETURN(std::optional<v1::AuditLogEntry> tail, ReadLogTail(reader));
  PARITECT_ASSIGN_OR_RETURN(std::optional<v1::AuditLogEntry> head, ReadLogHead(reader));
  return head && (!tail || tail->number() < head->number()) ? head : tail;
}

absl::StatusOr<std::int64_t> ReadLastLogNumber(SqlConnection& reader) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT max(number) FROM log"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  return row ? rows->Int(0) : 0;
}

absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLogRows(SqlConnection& reader, std::int64_t from, int limit) {
  PARITECT_RETURN_IF_ERROR(reader.CheckTime());
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows,
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

absl::StatusOr<std::optional<std::string>> ReadDocument(SqlConnection& reader, absl::string_view collection,
                                                        absl::string_view key) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows,
                            reader.Use("SELECT sum, value FROM document WHERE collection=? AND key=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindText(1, collection).BindBlob(2, key).Step());
  if (!row) return std::nullopt;
  std::string value = rows->Bytes(1);
  if (rows->Int(0) != SumOf(collection, key, value)) return Damaged(NameOf(collection, key));
  return value;
}

absl::StatusOr<std::string> ReadContentRow(SqlConnection& reader, absl::string_view sha256) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT bytes FROM content WHERE sha256=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindBlob(1, sha256).Step());
  if (!row) return absl::NotFoundError(absl::StrCat("no content with SHA-256 ", ToHex(sha256)));
  std::string bytes = rows->Bytes(0);
  if (Sha256(bytes) != sha256) return Damaged(absl::StrCat("content ", ToHex(sha256)));
  return bytes;
}

absl::StatusOr<bool> ReadDocumentPage(SqlConnection& reader, absl::string_view collection, absl::string_view prefix,
                                      absl::string_view after, std::vector<DocumentRow>& page) {
  PARITECT_RETURN_IF_ERROR(reader.CheckTime());
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows,
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

absl::StatusOr<bool> ReadBatchPage(SqlConnection& reader, absl::string_view node, std::int64_t& after,
                                   std::vector<BatchWrite>& page) {
  PARITECT_RETURN_IF_ERROR(reader.CheckTime());
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use(node.empty() ? kAllBatches : kNodeBatches));
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

absl::StatusOr<bool> HasContentRow(SqlConnection& reader, absl::string_view sha256, int level) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT level FROM content WHERE sha256=?"));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->BindBlob(1, sha256).Step());
  const bool found = row && (level == 0 || rows->Int(0) == level);
  rows->Reset();
  return found;
}

absl::StatusOr<std::vector<std::string>> ContentsBelow(SqlConnection& reader, absl::string_view sha256) {
  std::vector<std::string> below;
  std::vector<std::string> open = {std::string(sha256)};
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use("SELECT bytes FROM content WHERE sha256=? AND level>0"));
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

absl::StatusOr<UnreferencedRows> UnreferencedContents(SqlConnection& reader) {
  // No index by digest: it would cost every write a random place, and this is asked rarely. `place` counts the children
  // of a node; a node of a tree has 256 at most, whoever sends more gets them kept as far as that.
  PARITECT_ASSIGN_OR_RETURN(
      SqlStatement * rows,
      reader.Use("WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n+32 FROM place WHERE n<8161), "
                 "live(sha256) AS (SELECT sha256 FROM document_reference UNION SELECT sha256 FROM batch_reference "
                 "UNION SELECT substr(c.bytes, n, 32) FROM live JOIN content c ON c.sha256=live.sha256 AND c.level>0 "
                 "CROSS JOIN place WHERE n<length(c.bytes)) "
                 "SELECT content.sha256, content.level FROM content LEFT JOIN live ON live.sha256=content.sha256 "
                 "WHERE live.sha256 IS NULL"));
  UnreferencedRows out;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
    if (!row) return out;
    (rows->Int(1) > 0 ? out.nodes : out.others).push_back(rows->Bytes(0));
  }
}

}  // namespace paritect
