#include "storage/postgresql/postgres.h"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

// Types of parameters, in every PostgreSQL alike: src/include/catalog/pg_type.dat.
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr int kBinary = 1;

constexpr std::size_t kPendingBytesMax = 4 << 20;  // in this process's memory, before answers are read
constexpr std::size_t kPendingMax = 4096;
// Of a statement that is not read to its end; then it is cancelled.
constexpr int kRowsToSkip = 16;
constexpr std::size_t kBytesToSkip = 256 << 10;
constexpr absl::Duration kLook = absl::Milliseconds(100);
constexpr absl::Duration kCancelGrace = absl::Seconds(5);

// Defaults of a connection; what the address says counts instead. A server needs a place to write to: of several hosts
// the one that is no standby. What stays silent is dropped within half a minute.
constexpr std::array<std::pair<const char*, const char*>, 7> kDefaults = {{{"connect_timeout", "5"},
                                                                           {"keepalives_idle", "10"},
                                                                           {"keepalives_interval", "5"},
                                                                           {"keepalives_count", "3"},
                                                                           {"tcp_user_timeout", "25000"},
                                                                           {"target_session_attrs", "read-write"},
                                                                           {"fallback_application_name", "paritect"}}};

std::string OneLine(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return absl::StrReplaceAll(text, {{"\n", "; "}, {"\t", " "}});
}

// '?' to $1, $2, …: no statement of ours has one in a literal.
std::string Numbered(absl::string_view sql) {
  std::string out;
  int number = 0;
  for (const char c : sql) {
    if (c == '?') {
      absl::StrAppend(&out, "$", ++number);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// In PostgreSQL's binary form: eight bytes, the highest first.
std::string BytesOf(std::int64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) {
    bytes[static_cast<std::size_t>(7 - i)] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
  return bytes;
}

std::int64_t IntOf(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0 || PQgetlength(result, row, column) != 8) return 0;
  const char* bytes = PQgetvalue(result, row, column);
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(value);
}

}  // namespace

absl::Status PostgresStatus(absl::string_view sqlstate, absl::string_view message) {
  const absl::string_view group = sqlstate.substr(0, 2);
  if (sqlstate == "57014") return absl::DeadlineExceededError(message);
  // 25006: a standby, or one that was made read-only: elsewhere there may be one that takes it.
  if (group == "08" || group == "57" || sqlstate == "40003" || sqlstate == "53300" || sqlstate == "25006") {
    return absl::UnavailableError(message);
  }
  if (group == "40" || sqlstate == "55P03") return absl::AbortedError(message);
  if (group == "53" || group == "54") return absl::ResourceExhaustedError(message);
  if (group == "58") return absl::ResourceExhaustedError(absl::StrCat(message, " (the database's disk)"));
  if (group == "28" || sqlstate == "42501") return absl::PermissionDeniedError(message);
  if (group == "3D") return absl::NotFoundError(message);
  if (sqlstate == "XX001" || sqlstate == "XX002") return absl::DataLossError(message);
  return absl::InternalError(absl::StrCat(message, " (", sqlstate, ")"));
}

void PostgresConnection::ClearResult::operator()(pg_result* result) const {
  PQclear(result);
}

// --- one statement ----------------------------------------------------------------------------------

class PostgresConnection::Statement final : public SqlStatement {
 public:
  Statement(PostgresConnection& connection, const char* sql, std::string name)
      : connection_(connection), sql_(Numbered(sql)), name_(std::move(name)) {}

  SqlStatement& Bind(int index, std::int64_t value) override { return Put(index, BytesOf(value), kInt8); }
  SqlStatement& BindText(int index, absl::string_view text) override { return Put(index, std::string(text), kBytea); }
  SqlStatement& BindBlob(int index, absl::string_view bytes) override { return Put(index, std::string(bytes), kBytea); }

  absl::StatusOr<bool> Step() override {
    if (connection_.active_ != this) PARITECT_RETURN_IF_ERROR(connection_.Start(*this));
    auto result = connection_.Next();
    if (!result.ok()) return result.status();
    if (*result != nullptr && PQresultStatus(result->get()) == PGRES_SINGLE_TUPLE) {
      row_ = *std::move(result);
      return true;
    }
    const absl::Status status = *result == nullptr ? absl::OkStatus() : connection_.StatusOf(**result);
    connection_.active_ = nullptr;
    const absl::Status drained = *result == nullptr ? status : connection_.Drain(status);
    Forget();
    if (!drained.ok()) return drained;
    return false;
  }
  void Reset() override {
    if (connection_.active_ == this) connection_.EndActive();
    Forget();
  }
  absl::Status Queue(std::int64_t* changed, Visit visit) override {
    const absl::Status status = connection_.Enqueue(*this, changed, std::move(visit));
    Forget();
    return status;
  }

  std::int64_t Int(int column) const override { return IntOf(row_.get(), 0, column); }
  std::string Bytes(int column) const override {
    return {PQgetvalue(row_.get(), 0, column), static_cast<std::size_t>(PQgetlength(row_.get(), 0, column))};
  }
  bool IsNull(int column) const override { return PQgetisnull(row_.get(), 0, column) != 0; }

  std::size_t bytes() const {
    std::size_t all = 64;
    for (const std::string& value : values_) all += value.size() + 16;
    return all;
  }
  bool SendPrepare(PGconn* connection) {
    return PQsendPrepare(connection, name_.c_str(), sql_.c_str(), static_cast<int>(types_.size()), types_.data()) == 1;
  }
  bool Send(PGconn* connection) {
    std::vector<const char*> pointers;
    std::vector<int> lengths;
    for (const std::string& value : values_) {
      pointers.push_back(value.data());
      lengths.push_back(static_cast<int>(value.size()));
    }
    const std::vector<int> formats(values_.size(), kBinary);
    return PQsendQueryPrepared(connection, name_.c_str(), static_cast<int>(values_.size()), pointers.data(),
                               lengths.data(), formats.data(), kBinary) == 1;
  }

  bool prepared = false;  // or on its way to be

 private:
  SqlStatement& Put(int index, std::string bytes, Oid type) {
    const auto place = static_cast<std::size_t>(index);
    if (values_.size() < place) values_.resize(place);
    if (types_.size() < place) types_.resize(place);
    values_[place - 1] = std::move(bytes);
    types_[place - 1] = type;
    return *this;
  }
  void Forget() {
    row_ = nullptr;
    values_.clear();
  }

  PostgresConnection& connection_;
  const std::string sql_;
  const std::string name_;
  std::vector<std::string> values_;
  std::vector<Oid> types_;
  Result row_;
};

namespace {

// A row of a whole result, as a statement's own row is seen.
class ResultRow final : public SqlRow {
 public:
  ResultRow(const PGresult* result, int row) : result_(result), row_(row) {}
  std::int64_t Int(int column) const override { return IntOf(result_, row_, column); }
  std::string Bytes(int column) const override {
    return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
  }
  bool IsNull(int column) const override { return PQgetisnull(result_, row_, column) != 0; }

 private:
  const PGresult* result_;
  int row_;
};

}  // namespace

// --- the connection ---------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(const std::string& address,
                                                                             PostgresAccess access,
                                                                             absl::string_view setup) {
  // libpq's own message would repeat the address, and with it a password.
  PQconninfoOption* parsed = PQconninfoParse(address.c_str(), nullptr);
  if (parsed == nullptr) {
    return absl::InvalidArgumentError(
        "the address of the PostgreSQL database cannot be read; as libpq has it: "
        "postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full");
  }
  PQconninfoFree(parsed);
  std::vector<const char*> names, values;
  for (const auto& [name, value] : kDefaults) {
    names.push_back(name);
    values.push_back(value);
  }
  names.insert(names.end(), {"dbname", nullptr});
  values.insert(values.end(), {address.c_str(), nullptr});
  auto connection = std::unique_ptr<PostgresConnection>(
      new PostgresConnection(PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1)));
  if (PQstatus(connection->connection_) != CONNECTION_OK) {
    return absl::UnavailableError(
        absl::StrCat("the database cannot be reached: ", OneLine(PQerrorMessage(connection->connection_))));
  }
  PQsetNoticeProcessor(
      connection->connection_, [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(connection->connection_, 1) != 0) return connection->Broken("set non-blocking");
  // What the server's side of a connection drops, when this side is gone without a word, gives the locks free.
  const absl::string_view always =
      "SET tcp_keepalives_idle=10; SET tcp_keepalives_interval=5; SET tcp_keepalives_count=3; SET jit=off; "
      "SELECT set_config('synchronous_commit','on',false) WHERE current_setting('synchronous_commit')='off'; ";
  const absl::string_view mode = access == PostgresAccess::kReadOnly ? "SET default_transaction_read_only=on; " : "";
  PARITECT_RETURN_IF_ERROR(connection->Execute(absl::StrCat(always, setup, mode)));
  return connection;
}

PostgresConnection::PostgresConnection(pg_conn* connection) : connection_(connection) {}

PostgresConnection::~PostgresConnection() {
  active_ = nullptr;
  statements_.clear();
  PQfinish(connection_);
}

int PostgresConnection::backend_pid() const {
  return PQbackendPID(connection_);
}

absl::Status PostgresConnection::Broken(absl::string_view what) {
  broken_ = true;
  return absl::UnavailableError(
      absl::StrCat("the database went away (", what, "): ", OneLine(PQerrorMessage(connection_))));
}

bool PostgresConnection::Over() const {
  return absl::Now() > deadline_ || (stop_ && stop_());
}

void PostgresConnection::SetTimeLimit(std::int64_t milliseconds) {
  deadline_ = milliseconds == 0 ? absl::InfiniteFuture() : absl::Now() + absl::Milliseconds(milliseconds);
}

absl::Status PostgresConnection::CheckTime() const {
  return Over() ? absl::DeadlineExceededError("the time for reading is over") : absl::OkStatus();
}

void PostgresConnection::Cancel() {
  cancelled_ = absl::Now();
  PGcancel* cancel = PQgetCancel(connection_);
  if (cancel == nullptr) return;
  std::array<char, 256> why;
  (void)PQcancel(cancel, why.data(), static_cast<int>(why.size()));
  PQfreeCancel(cancel);
}

// Until a result can be had without waiting.
absl::Status PostgresConnection::Wait() {
  for (;;) {
    const int unsent = PQflush(connection_);
    if (unsent < 0) return Broken("send");
    if (PQisBusy(connection_) == 0) return absl::OkStatus();
    pollfd one = {PQsocket(connection_), static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), 0};
    const int ready = poll(&one, 1, static_cast<int>(absl::ToInt64Milliseconds(kLook)));
    if (ready < 0 && errno != EINTR) return Broken("poll");
    // Also where nothing is said to have come: a TLS layer may hold it already.
    if (PQconsumeInput(connection_) == 0) return Broken("receive");
    if (cancelled_ == absl::InfiniteFuture() && Over()) Cancel();
    if (absl::Now() > cancelled_ + kCancelGrace) {
      broken_ = true;
      return absl::DeadlineExceededError("the database does not answer in time");
    }
  }
}

absl::StatusOr<PostgresConnection::Result> PostgresConnection::Next() {
  if (broken_) return absl::UnavailableError("the database went away");
  PARITECT_RETURN_IF_ERROR(Wait());
  return Result(PQgetResult(connection_));
}

absl::Status PostgresConnection::StatusOf(const pg_result& result) {
  switch (PQresultStatus(&result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_SYNC: return absl::OkStatus();
    case PGRES_PIPELINE_ABORTED: return absl::CancelledError("not run: one before it failed");
    default: break;
  }
  const char* state = PQresultErrorField(&result, PG_DIAG_SQLSTATE);
  const std::string message = OneLine(PQresultErrorMessage(&result));
  if (PQstatus(connection_) == CONNECTION_BAD) broken_ = true;
  if (state == nullptr) return Broken(message);
  const absl::Status status = PostgresStatus(state, message);
  // A server that shuts down or became a standby serves this connection no more, whatever it still answers.
  if (absl::IsUnavailable(status)) broken_ = true;
  return status;
}

// Reads on to the end of a command. The first error counts.
absl::Status PostgresConnection::Drain(absl::Status status) {
  for (;;) {
    auto result = Next();
    if (!result.ok()) return status.ok() ? result.status() : status;
    if (*result == nullptr) break;
    if (status.ok()) status = StatusOf(**result);
  }
  cancelled_ = absl::InfiniteFuture();
  return status;
}

absl::Status PostgresConnection::Execute(absl::string_view sql) {
  PARITECT_RETURN_IF_ERROR(Finish());
  EndActive();
  if (broken_) return absl::UnavailableError("the database went away");
  if (PQsendQuery(connection_, std::string(sql).c_str()) == 0) return Broken("send");
  return Drain(absl::OkStatus());
}

absl::StatusOr<std::int64_t> PostgresConnection::ReadInt(const char* constant_sql) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, Use(constant_sql));
  PARITECT_ASSIGN_OR_RETURN(const bool row, rows->Step());
  const std::int64_t value = row ? rows->Int(0) : 0;
  rows->Reset();
  return value;
}

absl::StatusOr<SqlStatement*> PostgresConnection::Use(const char* sql) {
  std::unique_ptr<Statement>& slot = statements_[sql];
  if (slot == nullptr) slot = std::make_unique<Statement>(*this, sql, absl::StrCat("s", statements_.size()));
  slot->Reset();
  return slot.get();
}

absl::Status PostgresConnection::Start(Statement& statement) {
  PARITECT_RETURN_IF_ERROR(Finish());
  EndActive();
  if (broken_) return absl::UnavailableError("the database went away");
  if (!statement.prepared) {
    if (!statement.SendPrepare(connection_)) return Broken("send");
    PARITECT_RETURN_IF_ERROR(Drain(absl::OkStatus()));
    statement.prepared = true;
  }
  if (!statement.Send(connection_)) return Broken("send");
  if (PQsetSingleRowMode(connection_) == 0) return Broken("single rows");
  active_ = &statement;
  return absl::OkStatus();
}

// A few rows more are read to the end; a long answer is cancelled.
void PostgresConnection::EndActive() {
  if (active_ == nullptr) return;
  active_ = nullptr;
  std::size_t bytes = 0;
  for (int rows = 0; !broken_; ++rows) {
    const bool long_answer = rows >= kRowsToSkip || bytes >= kBytesToSkip;
    if (long_answer && cancelled_ == absl::InfiniteFuture()) Cancel();
    auto result = Next();
    if (!result.ok() || *result == nullptr) break;
    (void)StatusOf(**result);
    bytes += PQresultMemorySize(result->get());
  }
  cancelled_ = absl::InfiniteFuture();
}

void PostgresConnection::ResetAll() {
  EndActive();
  if (!pending_.empty()) (void)ReadPending(/*discard=*/true);
  for (auto& [sql, statement] : statements_) statement->Reset();
}

// --- many at once -----------------------------------------------------------------------------------

absl::Status PostgresConnection::Enqueue(Statement& statement, std::int64_t* changed, SqlStatement::Visit visit) {
  EndActive();
  if (broken_) return absl::UnavailableError("the database went away");
  if (!pipelining_ && PQenterPipelineMode(connection_) == 0) return Broken("begin a pipeline");
  pipelining_ = true;
  if (!statement.prepared) {
    if (!statement.SendPrepare(connection_)) return Broken("send");
    statement.prepared = true;
    pending_.push_back({&statement, true, nullptr, nullptr});
  }
  if (!statement.Send(connection_)) return Broken("send");
  pending_.push_back({&statement, false, changed, std::move(visit)});
  pending_bytes_ += statement.bytes();
  if (pending_bytes_ < kPendingBytesMax && pending_.size() < kPendingMax) return absl::OkStatus();
  return Finish();
}

absl::Status PostgresConnection::Finish() {
  return pipelining_ ? ReadPending(/*discard=*/false) : absl::OkStatus();
}

absl::Status PostgresConnection::Answered(const Pending& pending, const pg_result& result) {
  const absl::Status status = StatusOf(result);
  if (!status.ok()) {
    if (pending.prepares) pending.statement->prepared = false;
    return status;
  }
  if (pending.visit) {
    for (int row = 0; row < PQntuples(&result); ++row) pending.visit(ResultRow(&result, row));
  }
  if (pending.changed != nullptr) {
    std::int64_t rows = 0;
    const char* text = PQcmdTuples(const_cast<pg_result*>(&result));
    if (absl::SimpleAtoi(text, &rows)) *pending.changed += rows;
  }
  return absl::OkStatus();
}

absl::Status PostgresConnection::ReadPending(bool discard) {
  absl::Status status;
  if (!broken_ && PQpipelineSync(connection_) == 0) status = Broken("send");
  while (!broken_) {
    auto result = Next();
    if (!result.ok()) {
      if (status.ok()) status = result.status();
      broken_ = true;
      break;
    }
    if (*result == nullptr) continue;  // between two answers
    if (PQresultStatus(result->get()) == PGRES_PIPELINE_SYNC) break;
    if (pending_.empty()) {
      status = Broken("an answer to nothing");
      break;
    }
    Pending pending = std::move(pending_.front());
    pending_.pop_front();
    if (discard || !status.ok()) pending.visit = nullptr, pending.changed = nullptr;
    const absl::Status one = Answered(pending, **result);
    if (status.ok() && !absl::IsCancelled(one)) status = one;
  }
  pending_.clear();
  pending_bytes_ = 0;
  pipelining_ = false;
  cancelled_ = absl::InfiniteFuture();
  if (!broken_ && PQexitPipelineMode(connection_) == 0) return Broken("end a pipeline");
  return status;
}

// --- transactions -----------------------------------------------------------------------------------

absl::Status PostgresConnection::Begin() {
  commit_sent_ = false;
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * begin, Use("BEGIN"));
  return begin->Queue();
}

absl::Status PostgresConnection::Commit() {
  PARITECT_RETURN_IF_ERROR(Finish());
  EndActive();
  if (broken_) return absl::UnavailableError("the database went away");
  if (PQsendQuery(connection_, "COMMIT") == 0) return Broken("send");
  commit_sent_ = true;
  auto result = Next();
  if (!result.ok()) {
    broken_ = true;
    return result.status();
  }
  // Where the transaction had failed, the answer to COMMIT is ROLLBACK.
  const bool done = *result != nullptr && PQresultStatus(result->get()) == PGRES_COMMAND_OK &&
                    absl::string_view(PQcmdStatus(result->get())) == "COMMIT";
  absl::Status status = *result == nullptr ? Broken("COMMIT") : StatusOf(**result);
  if (!broken_) commit_sent_ = false;
  if (status.ok() && !done) status = absl::InternalError("the database rolled back instead of committing");
  // What happens to the connection from here on changes nothing of it.
  const absl::Status rest = Drain(status);
  return done ? absl::OkStatus() : rest;
}

void PostgresConnection::Rollback() {
  if (broken_) return;
  if (pipelining_) (void)ReadPending(/*discard=*/true);
  if (!Execute("ROLLBACK").ok()) broken_ = true;
}

}  // namespace paritect
