#include "storage/fleet_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/digest.h"
#include "common/errno_status.h"
#include "common/status_macros.h"
#include "storage/fleet_schema.h"
#include "storage/sqlite_prepared.h"

namespace paritect {
namespace {

constexpr int kPageRows = 512;
constexpr std::size_t kPageBytes = 4 << 20;

enum class Kind { kInt, kText, kBlob };

struct Column {
  absl::string_view name;
  Kind kind;
};

struct Table {
  absl::string_view name;
  std::size_t keys;  // the first columns are the primary key
  std::vector<Column> columns;
};

// The tables of the newest schema (storage/fleet_schema.cc).
const std::vector<Table>& Tables() {
  static const auto* const tables = new std::vector<Table>{
      {"content", 1, {{"id", Kind::kInt}, {"sha256", Kind::kBlob}, {"bytes", Kind::kBlob}, {"level", Kind::kInt}}},
      {"document", 2, {{"collection", Kind::kText}, {"key", Kind::kBlob}, {"sum", Kind::kInt}, {"value", Kind::kBlob}}},
      {"document_reference", 3, {{"collection", Kind::kText}, {"key", Kind::kBlob}, {"sha256", Kind::kBlob}}},
      {"stream", 2, {{"node", Kind::kText}, {"epoch", Kind::kInt}, {"last_sequence", Kind::kInt}}},
      {"batch",
       1,
       {{"id", Kind::kInt},
        {"node", Kind::kText},
        {"epoch", Kind::kInt},
        {"first_sequence", Kind::kInt},
        {"last_sequence", Kind::kInt},
        {"received_unix_ms", Kind::kInt},
        {"sha256", Kind::kBlob},
        {"payload", Kind::kBlob}}},
      {"batch_reference", 2, {{"batch", Kind::kInt}, {"sha256", Kind::kBlob}}},
      {"log", 1, {{"number", Kind::kInt}, {"entry", Kind::kBlob}}},
      {"log_head", 1, {{"id", Kind::kInt}, {"number", Kind::kInt}, {"entry", Kind::kBlob}}},
      {"tally", 1, {{"name", Kind::kText}, {"count", Kind::kInt}}}};
  return *tables;
}

// Statements are found by their address: they last as long as the program.
struct TableSql {
  const Table* table;
  std::string first;   // the first page
  std::string next;    // the page after a key
  std::string newest;  // the last key
  std::string put;
};

std::string Join(const std::vector<std::string>& parts) {
  return absl::StrJoin(parts, ", ");
}

const std::vector<TableSql>& Statements() {
  static const auto* const all = [] {
    auto* out = new std::vector<TableSql>();
    for (const Table& table : Tables()) {
      std::vector<std::string> names, keys, falling, marks, changes;
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const std::string name(table.columns[i].name);
        names.push_back(name);
        marks.emplace_back("?");
        if (i < table.keys) {
          keys.push_back(name);
          falling.push_back(absl::StrCat(name, " DESC"));
        } else {
          changes.push_back(absl::StrCat(name, "=excluded.", name));
        }
      }
      const std::string order = absl::StrCat(" ORDER BY ", Join(keys), " LIMIT ?");
      const std::string select = absl::StrCat("SELECT ", Join(names), " FROM ", table.name);
      const std::vector<std::string> key_marks(table.keys, "?");
      out->push_back(
          {&table, absl::StrCat(select, order),
           absl::StrCat(select, " WHERE (", Join(keys), ")>(", Join(key_marks), ")", order),
           absl::StrCat("SELECT ", Join(keys), " FROM ", table.name, " ORDER BY ", Join(falling), " LIMIT 1"),
           absl::StrCat("INSERT INTO ", table.name, "(", Join(names), ") VALUES(", Join(marks), ") ON CONFLICT(",
                        Join(keys), ") DO ",
                        changes.empty() ? "NOTHING" : absl::StrCat("UPDATE SET ", Join(changes)))});
    }
    return out;
  }();
  return *all;
}

struct Value {
  std::int64_t number = 0;
  std::string bytes;
};
using Row = std::vector<Value>;

Row RowOf(const SqlRow& row, const std::vector<Column>& columns, std::size_t count) {
  Row out(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (columns[i].kind == Kind::kInt) {
      out[i].number = row.Int(static_cast<int>(i));
    } else {
      out[i].bytes = row.Bytes(static_cast<int>(i));
    }
  }
  return out;
}

void BindColumn(SqlStatement& statement, int index, Kind kind, const Value& value) {
  switch (kind) {
    case Kind::kInt: statement.Bind(index, value.number); break;
    case Kind::kText: statement.BindText(index, value.bytes); break;
    case Kind::kBlob: statement.BindBlob(index, value.bytes); break;
  }
}

// One page after `after` (empty: the first); whether there may be more.
absl::StatusOr<bool> ReadPage(SqlConnection& reader, const TableSql& sql, const Row& after, std::vector<Row>& page) {
  const Table& table = *sql.table;
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use(after.empty() ? sql.first.c_str() : sql.next.c_str()));
  int index = 0;
  for (std::size_t i = 0; i < table.keys && !after.empty(); ++i) {
    BindColumn(*rows, ++index, table.columns[i].kind, after[i]);
  }
  rows->Bind(++index, kPageRows);
  for (std::size_t bytes = 0; bytes < kPageBytes;) {
    PARITECT_ASSIGN_OR_RETURN(const bool there, rows->Step());
    if (!there) return page.size() == static_cast<std::size_t>(kPageRows);
    Row& row = page.emplace_back(RowOf(*rows, table.columns, table.columns.size()));
    for (const Value& value : row) bytes += value.bytes.size() + sizeof(Value);
  }
  rows->Reset();
  return true;
}

absl::Status WritePage(SqlConnection& writer, const TableSql& sql, const std::vector<Row>& page) {
  PARITECT_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(writer));
  for (const Row& row : page) {
    PARITECT_ASSIGN_OR_RETURN(SqlStatement * put, writer.Use(sql.put.c_str()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      BindColumn(*put, static_cast<int>(i + 1), sql.table->columns[i].kind, row[i]);
    }
    PARITECT_RETURN_IF_ERROR(put->Queue());
  }
  PARITECT_RETURN_IF_ERROR(writer.Finish());
  return transaction.Commit();
}

absl::StatusOr<Row> NewestKey(SqlConnection& reader, const TableSql& sql) {
  PARITECT_ASSIGN_OR_RETURN(SqlStatement * rows, reader.Use(sql.newest.c_str()));
  PARITECT_ASSIGN_OR_RETURN(const bool there, rows->Step());
  Row key = there ? RowOf(*rows, sql.table->columns, sql.table->keys) : Row();
  rows->Reset();
  return key;
}

// A table whose rows were written when it was made: it is copied whole.
bool BeginsFilled(const Table& table) {
  return table.name == "tally";
}

}  // namespace

absl::Status CopyTables(SqlConnection& from, SqlConnection& to, CopyProgress progress) {
  for (const TableSql& sql : Statements()) {
    Row after;
    if (!BeginsFilled(*sql.table)) {
      PARITECT_ASSIGN_OR_RETURN(after, NewestKey(to, sql));
    }
    std::int64_t rows = 0;
    for (bool more = true; more;) {
      std::vector<Row> page;
      PARITECT_ASSIGN_OR_RETURN(more, ReadPage(from, sql, after, page));
      if (page.empty()) break;
      PARITECT_RETURN_IF_ERROR(WritePage(to, sql, page));
      rows += static_cast<std::int64_t>(page.size());
      after = std::move(page.back());
      progress(sql.table->name, rows);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableContents>> ReadTables(SqlConnection& reader, CopyProgress progress) {
  std::vector<TableContents> out;
  for (const TableSql& sql : Statements()) {
    TableContents& contents = out.emplace_back();
    contents.table = std::string(sql.table->name);
    Digest digest(DigestKind::kSha256);
    Row after;
    for (bool more = true; more;) {
      std::vector<Row> page;
      PARITECT_ASSIGN_OR_RETURN(more, ReadPage(reader, sql, after, page));
      for (const Row& row : page) {
        for (const Value& value : row) digest.Update(absl::StrCat(value.number, "/", value.bytes.size(), "/"));
        for (const Value& value : row) digest.Update(value.bytes);
      }
      contents.rows += static_cast<std::int64_t>(page.size());
      if (page.empty()) break;
      after = std::move(page.back());
      progress(sql.table->name, contents.rows);
    }
    contents.sha256 = digest.Finish();
  }
  return out;
}

absl::Status CopyToFile(SqlConnection& from, absl::string_view path) {
  const std::string temporary = absl::StrCat(path, ".copy", getpid());
  const absl::Cleanup remove = [&temporary] {
    for (const char* tail : {"", "-wal", "-shm"}) unlink((temporary + tail).c_str());
  };
  // Others than the owner see nothing.
  const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "create", temporary);
  close(fd);
  PARITECT_ASSIGN_OR_RETURN(SqliteConnection file, SqliteConnection::Open(temporary));
  PARITECT_RETURN_IF_ERROR(PrepareFleetFile(file, temporary, FleetMigrations()));
  // It is flushed once, when all is there.
  PARITECT_RETURN_IF_ERROR(file.Execute("PRAGMA synchronous=OFF"));
  PreparedSqlite to(std::move(file));
  PARITECT_RETURN_IF_ERROR(CopyTables(from, to, [](absl::string_view, std::int64_t) {}));
  to.ResetAll();
  return CopyDatabase(to.connection(), path, IfThere::kRefuse, [] {});
}

}  // namespace paritect
