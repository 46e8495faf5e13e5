// sqlite:PATH: one file. Schema and its reasons: docs/schema.md.
//
// The connection holds the file alone (locking_mode=EXCLUSIVE): Debian's SQLite 3.40 has a fault in WAL
// mode that needs two connections to a file (https://www.sqlite.org/wal.html#walresetbug), and without
// the shared-memory index the file may lie on any file system.
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "storage/sqlite.h"
#include "storage/store.h"
#include "storage/stored_parts.h"

namespace paritect {
namespace {

constexpr std::int64_t kApplicationId = 0x50524354;  // "PRCT"

// Migration i brings user_version from i to i + 1; forward only, each in one transaction. Never edit one
// that was released: add the next.
constexpr absl::string_view kMigrations[] = {
    R"(
CREATE TABLE content(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, payload BLOB NOT NULL) STRICT;
CREATE TABLE audit(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, created_on TEXT NOT NULL) STRICT;
CREATE TABLE bundle(id INTEGER PRIMARY KEY, audit INTEGER NOT NULL REFERENCES audit(id) ON DELETE CASCADE,
  side INTEGER NOT NULL, run TEXT NOT NULL, node TEXT NOT NULL, head INTEGER NOT NULL REFERENCES content(id)) STRICT;
CREATE INDEX bundle_by_audit ON bundle(audit, side, id);
CREATE TABLE evidence(bundle INTEGER NOT NULL REFERENCES bundle(id) ON DELETE CASCADE, seq INTEGER NOT NULL,
  kind INTEGER NOT NULL, outcome INTEGER NOT NULL, rank INTEGER, subject TEXT NOT NULL, source BLOB NOT NULL,
  content INTEGER NOT NULL REFERENCES content(id), PRIMARY KEY(bundle, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_by_content ON evidence(content);
CREATE TABLE report(id INTEGER PRIMARY KEY, audit INTEGER NOT NULL REFERENCES audit(id) ON DELETE CASCADE,
  content INTEGER NOT NULL REFERENCES content(id)) STRICT;
CREATE INDEX report_by_audit ON report(audit, id);
)",
};
constexpr std::int64_t kVersion = std::size(kMigrations);

class SqliteStore : public Store {
 public:
  explicit SqliteStore(SqliteConnection connection) : db_(std::move(connection)) {}

  absl::Status Prepare() {
    PARITECT_RETURN_IF_ERROR(db_.Execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA foreign_keys=ON;"));
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t application, db_.ReadInt("PRAGMA application_id"));
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t version, db_.ReadInt("PRAGMA user_version"));
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t tables, db_.ReadInt("SELECT count(*) FROM sqlite_schema"));
    if (application != kApplicationId && tables > 0) {
      return absl::FailedPreconditionError("this SQLite file belongs to another program");
    }
    if (version > kVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("schema ", version, " is of a later version; this one knows up to ", kVersion));
    }
    PARITECT_RETURN_IF_ERROR(db_.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
    for (std::int64_t from = version; from < kVersion; ++from) PARITECT_RETURN_IF_ERROR(Migrate(from));
    return absl::OkStatus();
  }

  absl::StatusOr<AuditId> CreateAudit(absl::string_view name, absl::string_view created_on) override {
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement insert, db_.Prepare("INSERT INTO audit(name, created_on) VALUES(?,?)"));
    PARITECT_RETURN_IF_ERROR(insert.BindText(1, name).BindText(2, created_on).Run());
    return db_.last_insert_id();
  }

  absl::StatusOr<std::vector<StoredAudit>> ListAudits() override {
    PARITECT_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        db_.Prepare("SELECT id, name, created_on, EXISTS(SELECT 1 FROM report WHERE audit=audit.id) FROM audit "
                    "ORDER BY id"));
    std::vector<StoredAudit> out;
    for (;;) {
      PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return out;
      out.push_back({rows.Int(0), rows.Bytes(1), rows.Bytes(2), rows.Int(3) != 0});
    }
  }

  absl::Status DeleteAudit(AuditId audit) override {
    PARITECT_RETURN_IF_ERROR(RequireAudit(audit));
    PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(db_));
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement remove, db_.Prepare("DELETE FROM audit WHERE id=?"));
    PARITECT_RETURN_IF_ERROR(remove.Bind(1, audit).Run());
    PARITECT_RETURN_IF_ERROR(
        db_.Execute("DELETE FROM content WHERE id NOT IN (SELECT content FROM evidence UNION SELECT head FROM bundle "
                    "UNION SELECT content FROM report)"));
    return transaction.Commit();
  }

  absl::Status PutBundle(AuditId audit, StoredSide side, const v1::Bundle& bundle) override {
    PARITECT_RETURN_IF_ERROR(RequireAudit(audit));
    PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(db_));
    v1::Bundle head = BundleHead(bundle);
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t head_id, Keep(head));
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement insert,
                              db_.Prepare("INSERT INTO bundle(audit, side, run, node, head) VALUES(?,?,?,?,?)"));
    insert.Bind(1, audit).Bind(2, static_cast<int>(side)).BindText(3, head.plan().run());
    PARITECT_RETURN_IF_ERROR(insert.BindText(4, head.plan().node()).Bind(5, head_id).Run());
    const std::int64_t bundle_id = db_.last_insert_id();
    std::int64_t seq = 0;
    for (v1::Evidence evidence : bundle.evidence()) {
      PARITECT_RETURN_IF_ERROR(PutEvidence(bundle_id, seq++, DescribeEvidence(side, head, evidence), evidence));
    }
    return transaction.Commit();
  }

  absl::StatusOr<std::vector<v1::Bundle>> LoadBundles(AuditId audit, StoredSide side) override {
    PARITECT_RETURN_IF_ERROR(RequireAudit(audit));
    PARITECT_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        db_.Prepare("SELECT bundle.id, digest, payload FROM bundle JOIN content ON content.id=head "
                    "WHERE audit=? AND side=? ORDER BY bundle.id"));
    rows.Bind(1, audit).Bind(2, static_cast<int>(side));
    std::vector<v1::Bundle> out;
    for (;;) {
      PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return out;
      v1::Bundle& bundle = out.emplace_back();
      PARITECT_RETURN_IF_ERROR(ReadContent(rows.Bytes(1), rows.Bytes(2), bundle));
      PARITECT_RETURN_IF_ERROR(LoadEvidence(rows.Int(0), bundle));
    }
  }

  absl::StatusOr<std::vector<StoredEvidence>> ListEvidence(AuditId audit) override {
    PARITECT_RETURN_IF_ERROR(RequireAudit(audit));
    PARITECT_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        db_.Prepare("SELECT side, run, node, kind, outcome, rank, subject, source, digest FROM bundle "
                    "JOIN evidence ON evidence.bundle=bundle.id JOIN content ON content.id=evidence.content "
                    "WHERE audit=? ORDER BY side, bundle.id, seq"));
    rows.Bind(1, audit);
    std::vector<StoredEvidence> out;
    for (;;) {
      PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return out;
      StoredEvidence& one = out.emplace_back();
      one.side = rows.Int(0) == 0 ? StoredSide::kBaseline : StoredSide::kMigrated;
      one.run = rows.Bytes(1);
      one.node = rows.Bytes(2);
      one.kind = static_cast<v1::EvidenceKind>(rows.Int(3));
      one.outcome = static_cast<v1::Outcome>(rows.Int(4));
      if (!rows.IsNull(5)) one.rank = static_cast<std::int32_t>(rows.Int(5));
      one.subject = rows.Bytes(6);
      one.source = rows.Bytes(7);
      one.digest = rows.Bytes(8);
    }
  }

  absl::Status PutReport(AuditId audit, const v1::Report& report) override {
    PARITECT_RETURN_IF_ERROR(RequireAudit(audit));
    PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(db_));
    v1::Report copy = report;
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t content, Keep(copy));
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement insert, db_.Prepare("INSERT INTO report(audit, content) VALUES(?,?)"));
    PARITECT_RETURN_IF_ERROR(insert.Bind(1, audit).Bind(2, content).Run());
    return transaction.Commit();
  }

  absl::StatusOr<v1::Report> LoadReport(AuditId audit) override {
    PARITECT_RETURN_IF_ERROR(RequireAudit(audit));
    PARITECT_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        db_.Prepare("SELECT digest, payload FROM report JOIN content ON content.id=report.content WHERE audit=? "
                    "ORDER BY report.id DESC LIMIT 1"));
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Bind(1, audit).Step());
    if (!row) return absl::NotFoundError(absl::StrCat("audit ", audit, " has no report yet"));
    v1::Report report;
    PARITECT_RETURN_IF_ERROR(ReadContent(rows.Bytes(0), rows.Bytes(1), report));
    return report;
  }

  absl::StatusOr<std::vector<std::string>> FindDamage() override {
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement rows, db_.Prepare("SELECT digest, payload FROM content ORDER BY digest"));
    std::vector<std::string> out;
    for (;;) {
      PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return out;
      const std::string digest = rows.Bytes(0);
      if (Sha256(rows.Bytes(1)) != digest) out.push_back(digest);
    }
  }

 private:
  absl::Status Migrate(std::int64_t from) {
    PARITECT_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(db_));
    PARITECT_RETURN_IF_ERROR(db_.Execute(kMigrations[from]));
    PARITECT_RETURN_IF_ERROR(
        db_.Execute(absl::StrCat("PRAGMA application_id=", kApplicationId, "; PRAGMA user_version=", from + 1)));
    return transaction.Commit();
  }

  absl::Status RequireAudit(AuditId audit) {
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement rows, db_.Prepare("SELECT 1 FROM audit WHERE id=?"));
    PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Bind(1, audit).Step());
    return row ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("no audit ", audit));
  }

  // Keeps content once; its row id.
  absl::StatusOr<std::int64_t> Keep(google::protobuf::Message& message) {
    const StoredContent content = MakeContent(message);
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement find, db_.Prepare("SELECT id FROM content WHERE digest=?"));
    PARITECT_ASSIGN_OR_RETURN(const bool known, find.BindBlob(1, content.digest).Step());
    if (known) return find.Int(0);
    PARITECT_ASSIGN_OR_RETURN(SqliteStatement insert, db_.Prepare("INSERT INTO content(digest, payload) VALUES(?,?)"));
    PARITECT_RETURN_IF_ERROR(insert.BindBlob(1, content.digest).BindBlob(2, content.payload).Run());
    return db_.last_insert_id();
  }

  absl::Status PutEvidence(std::int64_t bundle, std::int64_t seq, const StoredEvidence& row, v1::Evidence& evidence) {
    PARITECT_ASSIGN_OR_RETURN(const std::int64_t content, Keep(evidence));
    PARITECT_ASSIGN_OR_RETURN(
        SqliteStatement insert,
        db_.Prepare("INSERT INTO evidence(bundle, seq, kind, outcome, rank, subject, source, content) "
                    "VALUES(?,?,?,?,?,?,?,?)"));
    insert.Bind(1, bundle).Bind(2, seq).Bind(3, row.kind).Bind(4, row.outcome);
    if (row.rank) {
      insert.Bind(5, *row.rank);
    } else {
      insert.BindNull(5);
    }
    return insert.BindText(6, evidence.subject()).BindBlob(7, row.source).Bind(8, content).Run();
  }

  absl::Status LoadEvidence(std::int64_t bundle_id, v1::Bundle& bundle) {
    PARITECT_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        db_.Prepare("SELECT digest, payload FROM evidence JOIN content ON content.id=evidence.content WHERE bundle=? "
                    "ORDER BY seq"));
    rows.Bind(1, bundle_id);
    for (;;) {
      PARITECT_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return absl::OkStatus();
      PARITECT_RETURN_IF_ERROR(ReadContent(rows.Bytes(0), rows.Bytes(1), *bundle.add_evidence()));
    }
  }

  SqliteConnection db_;
};

absl::StatusOr<std::unique_ptr<Store>> Open(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("sqlite: needs a path");
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection connection, SqliteConnection::Open(path));
  auto store = std::make_unique<SqliteStore>(std::move(connection));
  if (auto status = store->Prepare(); !status.ok()) return Annotate(status, path);
  return store;
}

}  // namespace

extern const StoreBackend kSqliteStoreBackend;
const StoreBackend kSqliteStoreBackend = {"sqlite", &Open};

}  // namespace paritect
