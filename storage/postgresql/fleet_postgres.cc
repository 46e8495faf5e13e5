#include "storage/postgresql/fleet_postgres.h"

#include <random>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/digest.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "storage/fleet_schema.h"
#include "storage/fleet_sql.h"
#include "storage/postgresql/postgres.h"
#include "storage/postgresql/postgres_schema.h"
#include "storage/sqlite_prepared.h"

namespace paritect {
namespace {

constexpr int kReaders = 6;
constexpr int kConflictsMax = 20;  // of one transaction with others, before it is given up for now
constexpr absl::Duration kBetweenTries = absl::Milliseconds(500);
constexpr char kSizes[] =
    "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace "
    "WHERE n.nspname='paritect' AND c.relkind='r'";

std::string RandomText() {
  std::random_device device;
  return absl::StrCat(absl::Hex(device(), absl::kZeroPad8), absl::Hex(device(), absl::kZeroPad8),
                      absl::Hex(device(), absl::kZeroPad8), absl::Hex(device(), absl::kZeroPad8));
}

absl::StatusOr<std::unique_ptr<PostgresConnection>> OpenWriter(const std::string& address) {
  return PostgresConnection::Open(address, PostgresAccess::kReadWrite, kPostgresSearchPath);
}

class FleetPostgres final : public FleetSql {
 public:
  FleetPostgres(std::string address, const PostgresPatience& patience)
      : FleetSql(
            [address]() -> absl::StatusOr<std::unique_ptr<SqlConnection>> {
              return PostgresConnection::Open(address, PostgresAccess::kReadOnly, kPostgresSearchPath);
            },
            kReaders),
        address_(std::move(address)),
        patience_(patience) {}
  ~FleetPostgres() override { readers_.CloseIdle(); }

  absl::Status Prepare() {
    absl::MutexLock lock(&writer_mutex_);
    PARITECT_ASSIGN_OR_RETURN(writer_, OpenWriter(address_));
    PARITECT_RETURN_IF_ERROR(TakeOwnership(*writer_, patience_.owner));
    PARITECT_RETURN_IF_ERROR(PreparePostgres(*writer_, FleetMigrations()));
    PARITECT_ASSIGN_OR_RETURN(const std::string filling, ReadStoreText(*writer_, kReadFilling));
    if (!filling.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("a copy into this database has not ended (", filling, "): run `paritect-server migrate` again"));
    }
    owner_ = RandomText();
    PARITECT_RETURN_IF_ERROR(WriteStoreText(*writer_, kWriteOwner, owner_));
    PARITECT_ASSIGN_OR_RETURN(log_tail_, ReadLogEnd(*writer_));
    PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(*writer_));
    commits_ = tally.commits;
    return absl::OkStatus();
  }

  absl::Status Backup(absl::string_view path) override {
    absl::MutexLock one_at_a_time(&housekeeping_mutex_);
    return CopyRunningPostgres(address_, path);
  }

 protected:
  absl::Status Transact(Body body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) override;
  absl::Status AddSizes(FleetStoreStats& stats) override {
    return Look(kReadLimitMs, [&](SqlConnection& reader) {
      PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use(kSizes));
      PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
      stats.file_bytes = row ? rows->Int(0) : 0;
      return absl::OkStatus();
    });
  }

 private:
  bool Alive() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_) { return writer_ != nullptr && !writer_->broken(); }
  absl::Status Once(Body body, bool& in_doubt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  absl::Status Connect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  absl::Status Reconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);

  const std::string address_;
  const PostgresPatience patience_;
  std::unique_ptr<PostgresConnection> writer_ ABSL_GUARDED_BY(writer_mutex_);
  std::string owner_ ABSL_GUARDED_BY(writer_mutex_);
  int lost_backend_ ABSL_GUARDED_BY(writer_mutex_) = 0;             // the session before, until it is known to be gone
  std::int64_t stored_commits_ ABSL_GUARDED_BY(writer_mutex_) = 0;  // as the last connecting found them
  absl::Time not_before_ ABSL_GUARDED_BY(writer_mutex_) = absl::InfinitePast();
  absl::Status unreachable_ ABSL_GUARDED_BY(writer_mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(writer_mutex_);  // for good: nothing is written any more
};

// The session is the owner's right to write: with a new one it is asked whether nobody else had it meanwhile.
absl::Status FleetPostgres::Reconnect() {
  if (writer_ != nullptr) lost_backend_ = writer_->backend_pid();
  writer_ = nullptr;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> writer, OpenWriter(address_));
  absl::Status owned = TakeOwnership(*writer, absl::ZeroDuration());
  if (absl::IsUnavailable(owned) && !writer->broken() && lost_backend_ != 0) {
    PARITECT_RETURN_IF_ERROR(EndSession(*writer, lost_backend_));
    owned = TakeOwnership(*writer, absl::Seconds(1));
  }
  PARITECT_RETURN_IF_ERROR(owned);
  PARITECT_ASSIGN_OR_RETURN(const std::string owner, ReadStoreText(*writer, kReadOwner));
  if (owner != owner_) {
    lost_ = absl::FailedPreconditionError("another server took this database over meanwhile: restart this one");
    return lost_;
  }
  PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(*writer));
  if (tally.commits < commits_) {
    lost_ = absl::DataLossError(absl::StrCat(
        "its newest ", commits_ - tally.commits, " commits are gone (it ends at commit ", tally.commits,
        "): a standby took over that had not received them. Restart the server to go on with what is there"));
    return lost_;
  }
  stored_commits_ = tally.commits;
  writer_ = std::move(writer);
  return absl::OkStatus();
}

absl::Status FleetPostgres::Connect() {
  if (!lost_.ok()) return lost_;
  if (Alive()) return absl::OkStatus();
  // A database that is away is not asked for by each of a thousand commits.
  if (absl::Now() < not_before_) return unreachable_;
  const absl::Status status = Reconnect();
  if (!status.ok()) {
    not_before_ = absl::Now() + kBetweenTries;
    unreachable_ = status;
  }
  return status;
}

absl::Status FleetPostgres::Once(Body body, bool& in_doubt) {
  absl::Status status = writer_->Begin();
  if (status.ok()) status = body(*writer_);
  if (status.ok()) status = writer_->Commit();
  if (status.ok()) return status;
  in_doubt = writer_->commit_in_doubt();
  writer_->Rollback();
  return status;
}

absl::Status FleetPostgres::Transact(Body body) {
  const absl::Time begin = absl::Now();
  const absl::Duration patience = Alive() ? patience_.retry : absl::ZeroDuration();
  bool in_doubt = false;
  for (int conflicts = 0;;) {
    absl::Status status = Connect();
    if (!lost_.ok()) return lost_;
    if (status.ok() && in_doubt) {
      in_doubt = false;
      if (stored_commits_ > commits_) {
        ++commits_;
        return absl::OkStatus();
      }
    }
    if (status.ok()) status = Once(body, in_doubt);
    if (status.ok()) {
      ++commits_;
      return status;
    }
    if (absl::IsAborted(status)) {
      if (++conflicts <= kConflictsMax) continue;
      return absl::UnavailableError(absl::StrCat("in conflict with others, again and again: ", status.message()));
    }
    if (Alive()) return status;
    if (absl::Now() - begin >= (in_doubt ? patience_.doubt : patience)) {
      if (!in_doubt) return absl::UnavailableError(status.message());
      lost_ = absl::FailedPreconditionError(
          absl::StrCat("the database went away in the middle of a commit and did not come back: whether it was made is "
                       "not known; restart the server when it is there (",
                       status.message(), ")"));
      return lost_;
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

// Which state of which file: a copy goes on from where it was only with the same.
absl::StatusOr<std::string> NameOfState(SqlConnection& reader, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(reader));
  PARITECT_ASSIGN_OR_RETURN(const std::optional<v1::AuditLogEntry> head, ReadLogHead(reader));
  return absl::StrCat("sqlite:", path, ", commit ", tally.commits, ", log ",
                      head ? absl::StrCat(head->number(), ":", ToHex(head->hash())) : "empty");
}

absl::Status BeginFilling(PostgresConnection& to, const std::string& state) {
  PARITECT_ASSIGN_OR_RETURN(const std::string filling, ReadStoreText(to, kReadFilling));
  if (filling == state) return absl::OkStatus();
  if (!filling.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the copy of ", filling, " was begun in this database, not that of ", state,
                     ": drop its schema (DROP SCHEMA paritect CASCADE) to begin anew"));
  }
  PARITECT_ASSIGN_OR_RETURN(const Tally tally, ReadTally(to));
  if (tally.commits > 0)
    return absl::FailedPreconditionError("this database holds a fleet already; nothing was changed");
  return WriteStoreText(to, kWriteFilling, state);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FleetStore>> OpenPostgresStore(const std::string& address,
                                                              const PostgresPatience& patience) {
  auto store = std::make_unique<FleetPostgres>(address, patience);
  PARITECT_RETURN_IF_ERROR(Annotate(store->Prepare(), "postgresql"));
  return store;
}

absl::Status CopyRunningPostgres(const std::string& address, absl::string_view path) {
  if (PosixFileSystem().LStat(path).ok()) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already; nothing was written"));
  }
  // A connection of its own: one snapshot for as long as it takes.
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> reader,
                            PostgresConnection::Open(address, PostgresAccess::kReadOnly, kPostgresSearchPath));
  PARITECT_RETURN_IF_ERROR(reader->Execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"));
  return Annotate(CopyToFile(*reader, path), path);
}

absl::StatusOr<std::vector<TableContents>> FillPostgres(const std::string& address, const std::string& path,
                                                        CopyProgress progress) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<SqlConnection> from, PreparedSqlite::OpenReader(path));
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> to, OpenWriter(address));
  PARITECT_RETURN_IF_ERROR(TakeOwnership(*to, PostgresPatience().owner));
  PARITECT_RETURN_IF_ERROR(PreparePostgres(*to, FleetMigrations()));
  PARITECT_ASSIGN_OR_RETURN(const std::string state, NameOfState(*from, path));
  PARITECT_RETURN_IF_ERROR(BeginFilling(*to, state));
  PARITECT_RETURN_IF_ERROR(CopyTables(*from, *to, progress));
  PARITECT_ASSIGN_OR_RETURN(const std::vector<TableContents> was, ReadTables(*from, progress));
  PARITECT_ASSIGN_OR_RETURN(std::vector<TableContents> is, ReadTables(*to, progress));
  for (std::size_t i = 0; i < was.size(); ++i) {
    if (is[i].rows == was[i].rows && is[i].sha256 == was[i].sha256) continue;
    return absl::DataLossError(absl::StrCat("table ", was[i].table, ": ", is[i].rows, " rows are there, not the ",
                                            was[i].rows, " of the file, or others; drop the schema and begin anew"));
  }
  PARITECT_RETURN_IF_ERROR(WriteStoreText(*to, kWriteFilling, ""));
  return is;
}

}  // namespace paritect
