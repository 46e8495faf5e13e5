// What only the file-backed fleet store can get wrong: foreign, later, damaged and cut files, two owners, migrations.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "common/digest.h"
#include "common/file_system.h"
#include "common/message_bytes.h"
#include "storage/fleet_schema.h"
#include "storage/fleet_test_util.h"
#include "storage/sqlite.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<std::unique_ptr<FleetStore>> OpenFile(const std::string& path) {
  return OpenFleetStore("sqlite:" + path);
}

std::string BytesOf(const std::string& path) {
  return *ReadWholeFile(PosixFileSystem(), path, 1u << 30);
}

void PutBytes(const std::string& path, absl::string_view bytes) {
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
}

WriteSet Filled() {
  WriteSet set;
  for (int i = 0; i < 200; ++i) {
    const std::string content = absl::StrCat("content", i, std::string(300, 'c'));
    set.contents.push_back({Sha256(content), content});
    set.documents.push_back({"a", absl::StrCat("key", i), absl::StrCat("value", i), {Sha256(content)}});
    const auto sequence = static_cast<std::uint64_t>(i + 1);
    set.batches.push_back(Batch("n", 1, sequence, sequence, i));
    set.log.push_back(LogEntry(absl::StrCat("entry", i)));
  }
  return set;
}

std::string FilledFile(absl::string_view name) {
  const std::string path = NewStorePath(name);
  const auto store = OpenFile(path);
  EXPECT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(CommitOne(**store, Filled()).ok());
  return path;
}

// A trigger, a view in a table's place, a table that takes rows and drops them: each would lose what was acknowledged.
TEST(FleetSqlite, ASchemaThatSomebodyChangedIsRefused) {
  const std::pair<const char*, const char*> changes[] = {
      {"CREATE TRIGGER t BEFORE INSERT ON batch BEGIN SELECT RAISE(IGNORE); END", "trigger 't'"},
      {"ALTER TABLE log RENAME TO log2; CREATE VIEW log AS SELECT 1 AS number, x'00' AS entry", "'log"},
      {"DROP TABLE batch_reference; CREATE TABLE batch_reference(batch INTEGER NOT NULL ON CONFLICT IGNORE, "
       "sha256 BLOB NOT NULL, PRIMARY KEY(batch, sha256)) STRICT, WITHOUT ROWID",
       "table 'batch_reference'"},
      {"CREATE UNIQUE INDEX one ON batch(node, first_sequence)", "index 'one'"},
  };
  int number = 0;
  for (const auto& [sql, why] : changes) {
    const std::string path = FilledFile(absl::StrCat("schema", number++));
    {
      sqlite3* other = nullptr;  // another program's, with all that SQLite can
      ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(other, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
      sqlite3_close(other);
    }
    const auto store = OpenFile(path);
    ASSERT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition) << sql;
    EXPECT_THAT(std::string(store.status().message()), HasSubstr(why));
  }
}

TEST(FleetSqlite, WhatIsGoneFromASchemaIsTold) {
  const std::string path = FilledFile("gone");
  {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(other, "DROP INDEX batch_by_node", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
  }
  const auto store = OpenFile(path);
  ASSERT_EQ(store.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("not there"));
}

TEST(FleetSqlite, OpensAgainWithAllThatWasThere) {
  const std::string path = FilledFile("again");
  const auto store = *OpenFile(path);
  EXPECT_EQ(*store->Get("a", "key7"), "value7");
  WriteSet next;
  next.batches.push_back(Batch("n", 1, 201, 205, 1));
  next.log.push_back(LogEntry("next"));
  ASSERT_TRUE(CommitOne(*store, next).ok());
  EXPECT_EQ(store->ReadLog(201, 9)->at(0).number(), 201);
  EXPECT_THAT(*store->Verify(), IsEmpty());
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "others than the owner see nothing";
}

TEST(FleetSqlite, HasOneOwner) {
  const std::string path = FilledFile("owner");
  const auto store = OpenFile(path);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(OpenFile(path).status().code(), absl::StatusCode::kUnavailable);
}

TEST(FleetSqlite, LeavesForeignFilesAlone) {
  const std::string text = NewStorePath("text");
  PutBytes(text, std::string(5000, 't'));
  EXPECT_EQ(OpenFile(text).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(BytesOf(text), std::string(5000, 't'));
  EXPECT_NE(::access((text + ".lock").c_str(), F_OK), 0) << "nothing of ours stays beside it";

  const std::string other = NewStorePath("other");
  {
    SqliteConnection connection = *SqliteConnection::Open(other);
    ASSERT_TRUE(connection.Execute("CREATE TABLE mine(x); INSERT INTO mine VALUES(1)").ok());
  }
  const std::string before = BytesOf(other);
  EXPECT_THAT(OpenFile(other).status().message(), HasSubstr("belongs to another program"));
  EXPECT_EQ(BytesOf(other), before);

  // What `check --db` wrote before it kept audits in a store of this kind.
  const std::string offline = NewStorePath("offline");
  {
    SqliteConnection connection = *SqliteConnection::Open(offline);
    ASSERT_TRUE(connection.Execute("PRAGMA application_id=0x50524354; CREATE TABLE audit(id INTEGER)").ok());
  }
  EXPECT_EQ(OpenFile(offline).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(OpenFile("/nonexistent/folder/x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenFile("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FleetSqlite, RefusesALaterVersion) {
  const std::string path = FilledFile("later");
  {
    SqliteConnection connection = *SqliteConnection::Open(path);
    ASSERT_TRUE(connection.Execute("PRAGMA user_version=99").ok());
  }
  const absl::Status status = OpenFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("later version"));
}

TEST(FleetSqlite, AStoreThatVanishedDoesNotBeginAnew) {
  const std::string path = FilledFile("vanished");
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  EXPECT_EQ(OpenFile(path).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(OpenFile(path).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_EQ(::unlink((path + ".lock").c_str()), 0);
  EXPECT_TRUE(OpenFile(path).ok());
}

TEST(FleetSqlite, ACutFileIsSeenWhereverItIsCut) {
  const std::string path = FilledFile("cut");
  const std::string whole = BytesOf(path);
  ASSERT_GT(whole.size(), 100'000u);
  for (std::size_t size = 1; size < whole.size(); size = size < 200 ? size * 3 : size + 9'973) {
    PutBytes(path, whole.substr(0, size));
    const absl::Status status = OpenFile(path).status();
    EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)) << size << ": " << status;
  }
}

// Whatever byte is changed: no crash, and never a value that was not stored.
TEST(FleetSqlite, AFlippedByteIsNeverReadAsTruth) {
  const std::string path = FilledFile("flip");
  const std::string whole = BytesOf(path);
  std::mt19937 random(7);
  int refused = 0, found = 0, unused = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    PutBytes(path, bytes);
    const auto store = OpenFile(path);
    if (!store.ok()) {
      ++refused;
      continue;
    }
    bool harmed = false;
    for (int i = 0; i < 200; ++i) {
      const auto value = (*store)->Get("a", absl::StrCat("key", i));
      harmed |= !value.ok() || !value->has_value();
      EXPECT_TRUE(!value.ok() || !*value || **value == absl::StrCat("value", i));
      const std::string content = absl::StrCat("content", i, std::string(300, 'c'));
      const auto read = (*store)->Content(Sha256(content));
      harmed |= !read.ok();
      EXPECT_TRUE(!read.ok() || *read == content);
    }
    std::uint64_t next = 1;
    harmed |= !(*store)
                   ->ScanBatches("",
                                 [&](const BatchWrite& batch) {
                                   EXPECT_EQ(batch.payload, Batch("n", 1, next, next, 0).payload);
                                   ++next;
                                   return true;
                                 })
                   .ok();
    harmed |= next != 201;
    const auto problems = (*store)->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    EXPECT_TRUE(!harmed || !problems->empty()) << "round " << round;
    ++(problems->empty() ? unused : found);
  }
  EXPECT_GT(refused + found, 20) << refused << " refused, " << found << " found, " << unused << " in unused space";
}

TEST(FleetSqlite, AChangedLogIsFound) {
  const std::string path = FilledFile("log");
  const auto problem_after = [&](const char* sql) {
    PutBytes(path + ".copy", BytesOf(path));
    {
      SqliteConnection connection = *SqliteConnection::Open(path);
      EXPECT_TRUE(connection.Execute(sql).ok());
    }
    const std::vector<std::string> problems = *(*OpenFile(path))->Verify();
    PutBytes(path, BytesOf(path + ".copy"));
    return problems.empty() ? "" : problems.front();
  };
  EXPECT_EQ(problem_after("SELECT 1"), "");
  EXPECT_THAT(problem_after("DELETE FROM log WHERE number=5"), HasSubstr("log entry 5 is missing"));
  EXPECT_THAT(problem_after("UPDATE log SET entry=(SELECT entry FROM log WHERE number=6) WHERE number=5"),
              HasSubstr("log entry 5 is missing"));
  EXPECT_THAT(problem_after("UPDATE log SET entry=CAST(replace(entry, 'entry7', 'entry8') AS BLOB) WHERE number=8"),
              HasSubstr("log entry 8"));
  EXPECT_THAT(problem_after("UPDATE content SET bytes=x'00' WHERE id=3"), HasSubstr("content"));
  EXPECT_THAT(problem_after("UPDATE document SET value=x'00' WHERE key=x'6b657931'"), HasSubstr("document a key1 "));
  EXPECT_THAT(problem_after("UPDATE batch SET payload=x'00' WHERE id=200"), HasSubstr("batch 200 of node n"));
  EXPECT_THAT(problem_after("UPDATE batch SET node='m' WHERE id=3"), HasSubstr("batch 3 of node m"));
  EXPECT_THAT(problem_after("DELETE FROM document WHERE key=x'6b657931'"), HasSubstr("references belong to documents"));
  EXPECT_THAT(problem_after("DELETE FROM content WHERE id=3"), HasSubstr("not as many rows of content"));
  EXPECT_THAT(problem_after("DELETE FROM batch WHERE id=200"), HasSubstr("the last batch of node n"));
}

TEST(FleetSqlite, ALogWhoseEndWasCutOffIsFound) {
  const std::string path = NewStorePath("cutlog");
  {
    const auto store = *OpenFile(path);
    for (const char* action : {"a", "b", "c"}) {
      WriteSet set;
      set.log.push_back(LogEntry(action));
      ASSERT_TRUE(CommitOne(*store, set).ok());
    }
    EXPECT_THAT(*store->Verify(), IsEmpty());
    EXPECT_EQ(store->Stats()->log_head.number(), 3);
  }
  {
    SqliteConnection connection = *SqliteConnection::Open(path);
    ASSERT_TRUE(connection.Execute("DELETE FROM log WHERE number=3").ok());
  }
  EXPECT_THAT(*(*OpenFile(path))->Verify(), testing::ElementsAre(HasSubstr("cut off: 3 entries were written, 2")));
  EXPECT_EQ((*OpenFile(path))->Stats()->log_head.number(), 3) << "what was written, not what is left";
  {
    SqliteConnection connection = *SqliteConnection::Open(path);
    ASSERT_TRUE(connection.Execute("DELETE FROM log").ok());
  }
  EXPECT_THAT(*(*OpenFile(path))->Verify(), testing::ElementsAre(HasSubstr("cut off: 3 entries were written, 0")));
  // Going on does not heal it.
  const auto store = *OpenFile(path);
  WriteSet set;
  set.log.push_back(LogEntry("d"));
  ASSERT_TRUE(CommitOne(*store, set).ok());
  EXPECT_EQ(store->Stats()->log_head.number(), 4);
  EXPECT_THAT(*store->Verify(), testing::Not(IsEmpty()));
}

// A database of the version before has no head: it is taken from the log once.
TEST(FleetSqlite, TheHeadOfALogOfTheFirstVersionIsTakenOver) {
  const std::string path = NewStorePath("oldlog");
  {
    SqliteConnection connection = *SqliteConnection::Open(path);
    ASSERT_TRUE(PrepareFleetFile(connection, path, FleetMigrations().subspan(0, 1)).ok());
    v1::AuditLogEntry entry = LogEntry("a");
    ChainLogEntry(nullptr, entry);
    SqliteStatement insert = *connection.Prepare("INSERT INTO log(number, entry) VALUES(1,?)");
    ASSERT_TRUE(insert.BindBlob(1, SerializeStable(entry)).Run().ok());
  }
  EXPECT_THAT(*(*OpenFile(path))->Verify(), IsEmpty());
}

TEST(FleetSqlite, CompactGivesSpaceBack) {
  const std::string path = NewStorePath("space");
  const auto store = *OpenFile(path);
  WriteSet set;
  for (int i = 0; i < 40; ++i) {
    const std::string content = absl::StrCat(i, std::string(100'000, 'c'));
    set.contents.push_back({Sha256(content), content});
  }
  ASSERT_TRUE(CommitOne(*store, set).ok());
  ASSERT_TRUE(store->Compact().ok());
  EXPECT_LT(store->Stats()->file_bytes, 200'000);
  EXPECT_EQ(store->Stats()->wal_bytes, 0);
}

TEST(FleetSqlite, AReaderInTheMiddleOfAScanDoesNotHoldTheLogBack) {
  const std::string path = FilledFile("starve");
  const auto store = *OpenFile(path);
  bool first = true;
  ASSERT_TRUE(store
                  ->Scan("a", "", "",
                         [&](absl::string_view, absl::string_view) {
                           if (!std::exchange(first, false)) return true;
                           for (int i = 0; i < 30; ++i) {
                             WriteSet set;
                             const std::string content = absl::StrCat("large", i, std::string(500'000, 'x'));
                             set.contents.push_back({Sha256(content), content});
                             EXPECT_TRUE(CommitOne(*store, set).ok());
                           }
                           EXPECT_TRUE(store->Maintain().ok());
                           EXPECT_EQ(store->Stats()->wal_bytes, 0);
                           return true;
                         })
                  .ok());
}

TEST(FleetSqlite, MigratesForwardAndKeepsACopyOfWhatWas) {
  const std::string path = FilledFile("migrate");
  std::vector<absl::string_view> migrations(FleetMigrations().begin(), FleetMigrations().end());
  migrations.push_back("CREATE TABLE later(x INTEGER) STRICT;");
  {
    SqliteConnection connection = *SqliteConnection::Open(path);
    ASSERT_TRUE(PrepareFleetFile(connection, path, migrations).ok());
    EXPECT_EQ(*connection.ReadInt("PRAGMA user_version"), 5);
    EXPECT_EQ(*connection.ReadInt("SELECT count(*) FROM later"), 0);
    EXPECT_EQ(*connection.ReadInt("SELECT count(*) FROM document"), 200);
  }
  EXPECT_EQ(OpenFile(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*(*OpenFile(path + ".before-v5"))->Get("a", "key7"), "value7");

  // One that fails leaves the version it found.
  const std::string other = FilledFile("fails");
  migrations.back() = "CREATE TABLE half(x INTEGER) STRICT; CREATE TABLE document(x) STRICT;";
  {
    SqliteConnection connection = *SqliteConnection::Open(other);
    EXPECT_TRUE(absl::IsInternal(PrepareFleetFile(connection, other, migrations)));
  }
  EXPECT_EQ(*(*OpenFile(other))->Get("a", "key7"), "value7");
}

TEST(FleetSqlite, ABackupIsMadeWhileOthersWrite) {
  const std::string path = FilledFile("hot");
  const auto store = *OpenFile(path);
  WriteSet large;
  for (int i = 0; i < 200; ++i) {
    const std::string content = absl::StrCat("large", i, std::string(100'000, 'x'));
    large.contents.push_back({Sha256(content), content});
  }
  ASSERT_TRUE(CommitOne(*store, large).ok());
  std::atomic<bool> stop = false;
  int written = 0;
  std::thread writer([&] {
    while (!stop) {
      WriteSet set = Documents({{"b", absl::StrCat(++written), "x"}});
      set.log.push_back(LogEntry("b"));
      ASSERT_TRUE(CommitOne(*store, set).ok());
    }
  });
  const std::string copy = NewStorePath("hot_copy");
  const absl::Status status = store->Backup(copy);
  stop = true;
  writer.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(written, 1);
  const auto opened = OpenFile(copy);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(*(*opened)->Verify(), IsEmpty());
  EXPECT_EQ(*(*opened)->Get("a", "key7"), "value7");
  EXPECT_EQ(store->Backup(path).code(), absl::StatusCode::kInvalidArgument) << "never onto itself";
}

TEST(FleetSqlite, AnotherProcessCopiesARunningStoreAsItIsAtOneMoment) {
  const std::string path = FilledFile("other_process");
  const auto store = *OpenFile(path);
  ASSERT_TRUE(CommitOne(*store, Documents({{"b", "acknowledged", "x"}})).ok());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      ASSERT_TRUE(CommitOne(*store, Documents({{"b", absl::StrCat(i), "x"}, {"c", absl::StrCat(i), "x"}})).ok());
    }
  });
  const std::string copy = NewStorePath("other_copy");
  const absl::Status status = CopyRunningDatabase(path, copy);
  stop = true;
  writer.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(CopyRunningDatabase(path, copy).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(*store->Verify(), IsEmpty());
  const auto opened = *OpenFile(copy);
  EXPECT_THAT(*opened->Verify(), IsEmpty());
  EXPECT_EQ(*opened->Get("b", "acknowledged"), "x");
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenMarked(const std::string& path,
                                                       LostCommits lost = LostCommits::kRefuse) {
  return OpenFleetStore("sqlite:" + path, {.marked = true, .lost_commits = lost});
}

// The files of a store as a kill leaves them: the write-ahead log holds what was acknowledged last.
std::string KilledFile(absl::string_view name) {
  const std::string path = NewStorePath(name);
  const std::string other = NewStorePath(absl::StrCat(name, "_running"));
  const auto store = *OpenMarked(other);
  for (int i = 0; i < 50; ++i) {
    WriteSet set = Documents({{"a", absl::StrCat(i), "acknowledged"}});
    set.log.push_back(LogEntry("a"));
    EXPECT_TRUE(CommitOne(*store, set).ok());
  }
  for (const char* tail : {"", "-wal", ".lock", ".mark"}) PutBytes(path + tail, BytesOf(other + tail));
  return path;
}

TEST(FleetSqlite, AMarkContradictsALostLog) {
  const std::string whole = KilledFile("whole");
  EXPECT_TRUE(OpenMarked(whole).ok()) << OpenMarked(whole).status();

  const auto lose = [](absl::string_view name, absl::FunctionRef<std::string(std::string)> damage) {
    const std::string path = KilledFile(name);
    PutBytes(path + "-wal", damage(BytesOf(path + "-wal")));
    const auto refused = OpenMarked(path);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss) << name;
    EXPECT_THAT(refused.status().message(), HasSubstr("newest")) << name;
    const auto told = OpenMarked(path, LostCommits::kTell);
    ASSERT_TRUE(told.ok()) << told.status();
    EXPECT_THAT((*told)->Verify()->at(0), HasSubstr("commits are gone"));
  };
  lose("gone", [](const std::string&) { return std::string(); });
  lose("cut", [](std::string bytes) { return bytes.substr(0, bytes.size() * 2 / 3); });
  lose("flipped", [](std::string bytes) {
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
    return bytes;
  });

  // Accepted, it is whole and goes on.
  const std::string path = KilledFile("accepted");
  PutBytes(path + "-wal", "");
  {
    const auto store = OpenMarked(path, LostCommits::kAccept);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_THAT(*(*store)->Verify(), IsEmpty());
  }
  EXPECT_TRUE(OpenMarked(path).ok());
}

TEST(FleetSqlite, AnOlderCopyInItsPlaceIsSeen) {
  const std::string path = NewStorePath("older");

  for (int i = 0; i < 3; ++i) {
    const auto store = *OpenMarked(path);
    ASSERT_TRUE(CommitOne(*store, Documents({{"a", absl::StrCat(i), "x"}})).ok());
    if (i != 1) continue;
    ASSERT_TRUE(store->Backup(path + ".copy").ok());
  }
  PutBytes(path, BytesOf(path + ".copy"));
  EXPECT_THAT(OpenMarked(path).status().message(), HasSubstr("older copy"));
  unlink((path + ".copy").c_str());
  // A crash within the newest line of the mark leaves the one before.
  const std::string torn = NewStorePath("torn");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(CommitOne(**OpenMarked(torn), Documents({{"a", "b", "c"}})).ok());
  std::string mark = BytesOf(torn + ".mark");
  mark[20] = 'x';
  PutBytes(torn + ".mark", mark);
  EXPECT_THAT(*(*OpenMarked(torn))->Verify(), IsEmpty());
  mark[mark.size() - 20] = 'x';
  mark[20] = 'x';
  PutBytes(torn + ".mark", mark);
  EXPECT_THAT((*OpenMarked(torn))->Stats()->problems.at(0), HasSubstr("cannot be read"));
}

TEST(FleetSqlite, AnEmptiedLogIsNoticedAndTheHoleStays) {
  const std::string path = NewStorePath("emptied");
  {
    WriteSet set;
    for (int i = 0; i < 20; ++i) set.log.push_back(LogEntry("a"));
    ASSERT_TRUE(CommitOne(**OpenMarked(path), set).ok());
  }
  {
    SqliteConnection connection = *SqliteConnection::Open(path);
    ASSERT_TRUE(connection.Execute("DELETE FROM log; DELETE FROM log_head").ok());
  }
  WriteSet more;
  more.log.push_back(LogEntry("later"));
  {
    const auto store = *OpenMarked(path);
    EXPECT_THAT(store->Stats()->problems.at(0), HasSubstr("was emptied"));
    ASSERT_TRUE(CommitOne(*store, more).ok());
  }
  EXPECT_THAT((*OpenMarked(path))->Verify()->at(0), HasSubstr("log entry 1 is missing"));
}

// One bit anywhere, keys and numbers included: reading ends, and does not read in circles.
TEST(FleetSqlite, VerifyEndsWhateverBitIsFlipped) {
  const std::string path = FilledFile("circle");
  const std::string bytes = BytesOf(path);
  std::minstd_rand random(20261201);
  const std::string other = NewStorePath("circle_flipped");
  int found = 0;
  constexpr int kFlips = 300;
  for (int i = 0; i < kFlips; ++i) {
    std::string damaged = bytes;
    const std::size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8);
    for (const char* tail : {"-wal", "-shm", ".lock"}) unlink((other + tail).c_str());
    PutBytes(other, damaged);
    const auto store = OpenFile(other);
    if (!store.ok()) {
      ++found;
      continue;
    }
    const absl::Time began = absl::Now();
    const auto problems = (*store)->Verify([began] { return absl::Now() - began > absl::Seconds(20); });
    ASSERT_FALSE(absl::IsCancelled(problems.status())) << "byte " << at << " of flip " << i;
    if (!problems.ok() || !problems->empty()) ++found;
  }
  EXPECT_GT(found, kFlips / 2);
}

TEST(FleetSqlite, VerifyStopsWhereItIsAsked) {
  const auto store = *OpenFile(FilledFile("stopped"));
  EXPECT_EQ(store->Verify([] { return true; }).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace paritect
