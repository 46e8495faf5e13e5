// A thin cover over libpq: ownership, statuses, bytes, time limits. Nothing of the schema.
// libpq 15 (Debian 12): https://www.postgresql.org/docs/15/libpq.html
#ifndef PARITECT_STORAGE_POSTGRESQL_POSTGRES_H_
#define PARITECT_STORAGE_POSTGRESQL_POSTGRES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "storage/sql.h"

struct pg_conn;
struct pg_result;

namespace paritect {

enum class PostgresAccess { kReadWrite, kReadOnly };

// The status that an SQLSTATE stands for (https://www.postgresql.org/docs/15/errcodes-appendix.html). Aborted: the
// transaction was rolled back for another's sake and may be run again.
absl::Status PostgresStatus(absl::string_view sqlstate, absl::string_view message);

// Errors: Unavailable: it cannot be reached, or went away (broken() then).
class PostgresConnection final : public SqlConnection {
 public:
  // `address`: as libpq takes it (postgresql://USER@HOST:PORT/DATABASE?sslmode=…); password file, service file and
  // variables as libpq has them. Never part of a message: it may hold a password. `setup`: statements run first.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> Open(const std::string& address, PostgresAccess access,
                                                                  absl::string_view setup);
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;
  ~PostgresConnection() override;

  absl::StatusOr<SqlStatement*> Use(const char* sql) override;
  absl::Status Finish() override;
  void ResetAll() override;
  absl::Status Begin() override;  // queued
  absl::Status Commit() override;
  void Rollback() override;
  void SetTimeLimit(std::int64_t milliseconds) override;
  void SetStop(std::function<bool()> stop) override { stop_ = std::move(stop); }
  absl::Status CheckTime() const override;
  absl::Status CheckPages(std::vector<std::string>&) override { return absl::OkStatus(); }
  bool broken() const override { return broken_; }

  // It broke after COMMIT was sent and before the answer came: whether it was done is not known.
  bool commit_in_doubt() const { return broken_ && commit_sent_; }
  absl::Status Execute(absl::string_view sql);                     // any number of statements, no rows
  absl::StatusOr<std::int64_t> ReadInt(const char* constant_sql);  // the first column of the first row; 0: none
  int backend_pid() const;

 private:
  class Statement;
  struct ClearResult {
    void operator()(pg_result* result) const;
  };
  using Result = std::unique_ptr<pg_result, ClearResult>;
  // What was sent and not answered yet, in this order.
  struct Pending {
    Statement* statement = nullptr;
    bool prepares = false;
    std::int64_t* changed = nullptr;
    SqlStatement::Visit visit;
  };

  explicit PostgresConnection(pg_conn* connection);
  absl::StatusOr<Result> Next();  // nullptr: the command has no more
  absl::Status Wait();
  absl::Status Broken(absl::string_view what);
  absl::Status StatusOf(const pg_result& result);
  absl::Status Drain(absl::Status status);
  absl::Status Start(Statement& statement);
  absl::Status Enqueue(Statement& statement, std::int64_t* changed, SqlStatement::Visit visit);
  absl::Status ReadPending(bool discard);
  absl::Status Answered(const Pending& pending, const pg_result& result);
  void EndActive();
  void Cancel();
  bool Over() const;

  pg_conn* connection_;
  std::map<const char*, std::unique_ptr<Statement>> statements_;
  Statement* active_ = nullptr;  // whose rows are being read
  bool pipelining_ = false;
  std::deque<Pending> pending_;
  std::size_t pending_bytes_ = 0;
  bool broken_ = false;
  bool commit_sent_ = false;
  absl::Time deadline_ = absl::InfiniteFuture();
  absl::Time cancelled_ = absl::InfiniteFuture();  // since when an answer to a cancellation is waited for
  std::function<bool()> stop_;
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_POSTGRESQL_POSTGRES_H_
