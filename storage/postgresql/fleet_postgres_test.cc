// What only a store across a network can get wrong: sessions that break, owners, conflicts, answers that are lost. The
// contract itself runs over it too (storage/fleet_store_test.cc).
#include "storage/postgresql/fleet_postgres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "common/digest.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_schema.h"
#include "storage/fleet_test_util.h"
#include "storage/postgresql/cutting_proxy.h"
#include "storage/postgresql/postgres.h"
#include "storage/postgresql/postgres_schema.h"
#include "storage/postgresql/server_stores.h"
#include "storage/postgresql/test_server.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr PostgresPatience kPatient = {absl::Seconds(60), absl::Seconds(60), absl::Seconds(10)};
constexpr PostgresPatience kHasty = {absl::ZeroDuration(), absl::ZeroDuration(), absl::ZeroDuration()};

PostgresTestServer& Server() {
  return PostgresTestServer::Get();
}

std::unique_ptr<FleetStore> Opened(const std::string& address, const PostgresPatience& patience = kPatient) {
  auto store = OpenPostgresStore(address, patience);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

void Admin(const std::string& address, absl::string_view sql) {
  const auto admin = PostgresConnection::Open(address, PostgresAccess::kReadWrite, kPostgresSearchPath);
  ASSERT_TRUE(admin.ok()) << admin.status();
  const absl::Status status = (*admin)->Execute(sql);
  ASSERT_TRUE(status.ok()) << status;
}

void EndAllSessions(const std::string& address) {
  Admin(address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname=current_database() AND "
        "pid<>pg_backend_pid()");
}

// One commit of everything; `number` counts them from 1.
WriteSet Numbered(std::uint64_t number) {
  WriteSet set = Documents({{"a", NumberKeyPart(number), "x"}, {"b", "last", absl::StrCat(number)}});
  const std::string content = absl::StrCat("content", number, std::string(number % 7 * 3000, 'c'));
  set.contents.push_back({Sha256(content), content});
  set.documents[0].references = {Sha256(content)};
  set.batches.push_back(Batch("n", 1, number, number, 1));
  set.log.push_back(LogEntry(absl::StrCat(number)));
  return set;
}

// Each commit that returned is there once, and nothing else.
void ExpectExactly(FleetStore& store, std::uint64_t commits) {
  const auto stats = store.Stats();
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->batches, static_cast<std::int64_t>(commits));
  EXPECT_EQ(stats->log_entries, static_cast<std::int64_t>(commits));
  EXPECT_EQ(stats->contents, static_cast<std::int64_t>(commits));
  EXPECT_EQ(stats->documents, static_cast<std::int64_t>(commits == 0 ? 0 : commits + 1));
  EXPECT_THAT(*store.Verify(), IsEmpty());
}

TEST(FleetPostgres, OpensAgainWithAllThatWasThereAndHasOneOwner) {
  const std::string address = Server().NewDatabase();
  {
    const auto store = Opened(address);
    for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(CommitOne(*store, Numbered(i)).ok());
    const absl::Status second = OpenPostgresStore(address, kHasty).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(second.message(), HasSubstr("in use by another process"));
  }
  const auto store = Opened(address);
  ExpectExactly(*store, 20);
  ASSERT_TRUE(CommitOne(*store, Numbered(21)).ok());
  EXPECT_EQ(store->ReadLog(21, 9)->at(0).number(), 21);
  ExpectExactly(*store, 21);
}

TEST(FleetPostgres, LeavesAForeignSchemaAndALaterVersionAlone) {
  const std::string foreign = Server().NewDatabase();
  Admin(foreign, "CREATE SCHEMA paritect; CREATE TABLE paritect.theirs(x int)");
  EXPECT_THAT(OpenPostgresStore(foreign).status().message(), HasSubstr("belongs to another program"));
  const std::string later = Server().NewDatabase();
  Opened(later);
  Admin(later, "UPDATE store SET version=99");
  EXPECT_EQ(OpenPostgresStore(later).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(OpenPostgresStore(later).status().message(), HasSubstr("later version"));
}

TEST(FleetPostgres, BringsAnEarlierSchemaToTheNewest) {
  const std::string address = Server().NewDatabase();
  {
    const auto writer = *PostgresConnection::Open(address, PostgresAccess::kReadWrite, kPostgresSearchPath);
    ASSERT_TRUE(PreparePostgres(*writer, FleetMigrations().subspan(0, 2)).ok());
    ASSERT_TRUE(writer->Execute("INSERT INTO document VALUES('a', 'k', 0, 'v')").ok());
  }
  const auto store = Opened(address);
  EXPECT_EQ(store->Get("a", "k").status().code(), absl::StatusCode::kDataLoss) << "it is there; its sum was made up";
  EXPECT_TRUE(CommitOne(*store, Documents({{"a", "k", "w"}})).ok());
  EXPECT_EQ(*store->Get("a", "k"), "w");
}

TEST(FleetPostgres, StatesAreToldByTheirClass) {
  const auto code = [](absl::string_view state) { return PostgresStatus(state, "x").code(); };
  EXPECT_EQ(code("53100"), absl::StatusCode::kResourceExhausted);  // disk full
  EXPECT_EQ(code("53200"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("58030"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("40001"), absl::StatusCode::kAborted);
  EXPECT_EQ(code("40P01"), absl::StatusCode::kAborted);
  EXPECT_EQ(code("40003"), absl::StatusCode::kUnavailable) << "whether it was done is not known";
  EXPECT_EQ(code("57P01"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("57014"), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(code("25006"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("42501"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code("XX001"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("42P01"), absl::StatusCode::kInternal);
}

// The rows' writing fails with this state for so many times.
std::string Failing(absl::string_view state, int times) {
  return absl::StrCat(
      "CREATE SEQUENCE failures; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF nextval('paritect.failures') <= ",
      times, " THEN RAISE EXCEPTION 'asked for' USING ERRCODE='", state,
      "'; END IF; RETURN NEW; END $$; CREATE TRIGGER fails BEFORE INSERT ON batch FOR EACH ROW EXECUTE FUNCTION "
      "fail()");
}

TEST(FleetPostgres, AConflictWithOthersIsTriedAgain) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address);
  Admin(address, Failing("40001", 5));
  ASSERT_TRUE(CommitOne(*store, Numbered(1)).ok());
  ExpectExactly(*store, 1);
}

TEST(FleetPostgres, AFullDiskChangesNothingAndEndsByItself) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address);
  ASSERT_TRUE(CommitOne(*store, Numbered(1)).ok());
  Admin(address, Failing("53100", 3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CommitOne(*store, Numbered(2)).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(*store->Get("b", "last"), "1");
  }
  ASSERT_TRUE(CommitOne(*store, Numbered(2)).ok());
  ExpectExactly(*store, 2);
}

TEST(FleetPostgres, SessionsThatWereEndedAreMadeAnew) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(CommitOne(*store, Numbered(i)).ok()) << i;
    EndAllSessions(address);
    EXPECT_EQ(*store->Get("b", "last"), absl::StrCat(i));
  }
  ExpectExactly(*store, 10);
}

TEST(FleetPostgres, ACommitWhoseAnswerWasLostIsNotDoneTwice) {
  CuttingProxy proxy(Server().socket_folder());
  const std::string direct = Server().NewDatabase();
  const auto store = Opened(Server().AddressIn(proxy.folder(), PostgresTestServer::DatabaseOf(direct)));
  std::uint64_t number = 0;
  for (int round = 0; round < 5; ++round) {
    for (const CuttingProxy::Cut cut :
         {CuttingProxy::Cut::kAfterCommit, CuttingProxy::Cut::kNothing, CuttingProxy::Cut::kBeforeCommit}) {
      proxy.CutNext(cut);
      const absl::Status status = CommitOne(*store, Numbered(++number));
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(proxy.cut_done());
    }
  }
  ExpectExactly(*store, number);
}

TEST(FleetPostgres, NothingIsWrittenOnWhereACommitStaysUnknown) {
  CuttingProxy proxy(Server().socket_folder());
  const std::string direct = Server().NewDatabase();
  const std::string address = Server().AddressIn(proxy.folder(), PostgresTestServer::DatabaseOf(direct));
  auto store = Opened(address, kHasty);
  ASSERT_TRUE(CommitOne(*store, Numbered(1)).ok());
  proxy.CutNext(CuttingProxy::Cut::kAfterCommit);
  EXPECT_EQ(CommitOne(*store, Numbered(2)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CommitOne(*store, Numbered(2)).code(), absl::StatusCode::kFailedPrecondition);
  store = nullptr;
  store = Opened(address);
  ExpectExactly(*store, 2);
}

TEST(FleetPostgres, ServersKilledInTheMiddleLoseNothing) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> done = 0;
  std::thread writer([&] {
    while (!stop) {
      const absl::Status status = CommitOne(*store, Numbered(done + 1));
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) stop = true;
      if (status.ok()) ++done;
    }
  });
  for (int kill = 0; kill < 4; ++kill) {
    const std::uint64_t before = done;
    while (done < before + 15 && !stop) absl::SleepFor(absl::Milliseconds(1));
    Server().Kill();
    Server().Start();
  }
  stop = true;
  writer.join();
  ExpectExactly(*store, done);
}

TEST(FleetPostgres, ADatabaseThatIsAwayIsAnErrorAndNoLoss) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address, kHasty);
  ASSERT_TRUE(CommitOne(*store, Numbered(1)).ok());
  Server().Kill();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(CommitOne(*store, Numbered(2)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store->Get("b", "last").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(OpenPostgresStore(address).status().code(), absl::StatusCode::kUnavailable);
  Server().Start();
  absl::Status status;
  for (const absl::Time until = absl::Now() + absl::Seconds(60);
       !(status = CommitOne(*store, Numbered(2))).ok() && absl::Now() < until;) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  ASSERT_TRUE(status.ok()) << status;
  ExpectExactly(*store, 2);
}

TEST(FleetPostgres, WhoLostTheDatabaseToAnotherWritesNoMore) {
  const std::string address = Server().NewDatabase();
  const auto first = Opened(address, {absl::Seconds(1), absl::Seconds(60), absl::Seconds(10)});
  ASSERT_TRUE(CommitOne(*first, Numbered(1)).ok());
  EndAllSessions(address);
  {
    const auto second = Opened(address);
    EXPECT_EQ(CommitOne(*first, Numbered(2)).code(), absl::StatusCode::kUnavailable) << "while the other has it";
    ASSERT_TRUE(CommitOne(*second, Numbered(2)).ok());
  }
  absl::Status status;
  for (const absl::Time until = absl::Now() + absl::Seconds(60);
       absl::IsUnavailable(status = CommitOne(*first, Numbered(2))) && absl::Now() < until;) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(status.message(), HasSubstr("another server"));
  ExpectExactly(*Opened(address), 2);
}

TEST(FleetPostgres, AStandbyThatLacksCommitsIsTold) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address);
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(CommitOne(*store, Numbered(i)).ok());
  Admin(address, "UPDATE tally SET count=count-2 WHERE name='commit'");
  EndAllSessions(address);
  const absl::Status status = CommitOne(*store, Numbered(6));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("newest 2 commits are gone"));
}

TEST(FleetPostgres, LargeRowsComeInPages) {
  const std::string address = Server().NewDatabase();
  const auto store = Opened(address);
  for (int i = 0; i < 12; ++i) {
    WriteSet set = Documents({{"a", NumberKeyPart(static_cast<std::uint64_t>(i)), std::string(3'000'000, 'v')}});
    set.batches.push_back(Batch("n", 1, static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(i + 1), i));
    set.batches[0].payload = std::string(2'000'000, 'p');
    ASSERT_TRUE(CommitOne(*store, set).ok());
  }
  int seen = 0;
  ASSERT_TRUE(store
                  ->Scan("a", "", "",
                         [&](absl::string_view, absl::string_view value) {
                           EXPECT_EQ(value.size(), 3'000'000u);
                           return ++seen < 100;
                         })
                  .ok());
  EXPECT_EQ(seen, 12);
  int batches = 0;
  ASSERT_TRUE(store->ScanBatches("n", [&](const BatchWrite&) { return ++batches < 100; }).ok());
  EXPECT_EQ(batches, 12);
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

TEST(FleetPostgres, AStatementEndsInTimeAndTheSessionGoesOn) {
  const auto reader = *PostgresConnection::Open(Server().NewDatabase(), PostgresAccess::kReadOnly, kPostgresSearchPath);
  reader->SetTimeLimit(200);
  EXPECT_EQ(reader->ReadInt("SELECT count(pg_sleep(600))").status().code(), absl::StatusCode::kDeadlineExceeded);
  reader->SetTimeLimit(0);
  EXPECT_EQ(*reader->ReadInt("SELECT 7::bigint"), 7);
  reader->SetStop([] { return true; });
  EXPECT_EQ(reader->ReadInt("SELECT count(pg_sleep(601))").status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(reader->broken());
}

TEST(FleetPostgres, NoPasswordIsTold) {
  const std::pair<const char*, absl::StatusCode> addresses[] = {
      {"postgresql://u:secret@h:port:1/d", absl::StatusCode::kUnavailable},
      {"postgresql://u:secret@/d?host=/nonexistent&x=y", absl::StatusCode::kInvalidArgument},
      {"postgresql://u:secret@/d?host=/nonexistent", absl::StatusCode::kUnavailable},
  };
  for (const auto& [address, code] : addresses) {
    const absl::Status status = OpenPostgresStore(address, kHasty).status();
    EXPECT_EQ(status.code(), code) << address;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << status;
  }
  EXPECT_EQ(ShownStore("postgresql://u:secret@h:5432/d?password=secret"), "postgresql://u@h:5432/d");
  EXPECT_EQ(ShownStore("postgresql://h/d"), "postgresql://h/d");
  EXPECT_EQ(ShownStore("sqlite:/a/b?c"), "sqlite:/a/b?c");
}

// --- a fleet's file brought into a database ----------------------------------------------------------

std::string FilledFile() {
  const std::string path = NewStorePath("fill");
  const auto store = *OpenFleetStore("sqlite:" + path);
  for (std::uint64_t i = 1; i <= 700; ++i) EXPECT_TRUE(CommitOne(*store, Numbered(i)).ok());
  return path;
}

void Silent(absl::string_view, std::int64_t) {}

TEST(FleetPostgresFilling, BringsAllAndGoesOnWhereItWasInterrupted) {
  const std::string path = FilledFile();
  const auto source = *OpenFleetStore("sqlite:" + path);
  const std::string address = Server().NewDatabase();
  {
    const auto writer = *PostgresConnection::Open(address, PostgresAccess::kReadWrite, kPostgresSearchPath);
    ASSERT_TRUE(PreparePostgres(*writer, FleetMigrations()).ok());
    ASSERT_TRUE(writer
                    ->Execute("CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
                              "'interrupted'; END $$; CREATE TRIGGER stops BEFORE INSERT ON batch FOR EACH ROW WHEN "
                              "(NEW.first_sequence=600) EXECUTE FUNCTION stop()")
                    .ok());
  }
  EXPECT_EQ(FillPostgres(address, path, Silent).status().code(), absl::StatusCode::kInternal);
  const absl::Status early = OpenPostgresStore(address).status();
  EXPECT_EQ(early.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(early.message(), HasSubstr("has not ended"));
  EXPECT_EQ(FillPostgres(address, FilledFile(), Silent).status().code(), absl::StatusCode::kFailedPrecondition)
      << "another file";
  Admin(address, "DROP TRIGGER stops ON batch");
  std::int64_t batches = 0;
  const auto filled = FillPostgres(address, path, [&](absl::string_view table, std::int64_t rows) {
    if (table == "batch" && batches == 0) batches = rows;
  });
  ASSERT_TRUE(filled.ok()) << filled.status();
  EXPECT_LT(batches, 512) << "what was there was not copied again";
  {
    const auto store = Opened(address);
    ExpectExactly(*store, 700);
    EXPECT_EQ(Dump(*store), Dump(*source));
    ASSERT_TRUE(CommitOne(*store, Numbered(701)).ok()) << "it goes on from there";
  }
  EXPECT_EQ(FillPostgres(address, path, Silent).status().code(), absl::StatusCode::kFailedPrecondition)
      << "a fleet is there";
}

}  // namespace
}  // namespace paritect
