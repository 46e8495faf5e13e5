// Revocations outlive the database that they were made in.
#include "server/holder_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/pki/testing.h"
#include "server/fleet.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::NodeRecord Holder(v1::AccessRole role, const std::string& name, const std::string& serial) {
  v1::NodeRecord record;
  record.set_role(role);
  record.set_name(name);
  record.set_serial(serial);
  record.set_certificate_expires_unix(2'000'000);
  return record;
}

HolderLine Line(HolderEvent event, const std::string& name, const std::string& serial, std::int64_t at_unix = 900'000) {
  HolderLine line;
  line.event = event;
  line.at_unix = at_unix;
  line.role = v1::ACCESS_ROLE_ADMIN;
  line.name = name;
  line.serial = serial;
  line.expires_unix = 2'000'000;
  return line;
}

class HolderJournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<Fleet> NewFleet(FleetStore& store) {
    journal_ = std::make_unique<HolderJournal>(folder_.path());
    FleetPorts ports;
    ports.submit = [&store](WriteSet set, std::function<void(absl::Status)> done) {
      done(CommitOne(store, set));
      return absl::OkStatus();
    };
    ports.holders = journal_.get();
    auto fleet = std::make_unique<Fleet>(
        store, [this] { return now_ms_; }, FleetOptions{}, std::move(ports));
    EXPECT_TRUE(fleet->Load().ok());
    return fleet;
  }

  static absl::Status Enrol(Fleet& fleet, FleetStore& store, const v1::NodeRecord& record, bool replace) {
    const auto set = fleet.PrepareEnrolment(record, replace);
    if (!set.ok()) return set.status();
    const absl::Status status = CommitOne(store, *set);
    fleet.Enrolled(*set);
    return status;
  }

  static void Revoke(Fleet& fleet, FleetStore& store, const std::string& name) {
    const auto set = fleet.PrepareRevocation(name, "admin/b", false);
    ASSERT_TRUE(set.ok()) << set.status();
    ASSERT_TRUE(CommitOne(store, *set).ok());
    fleet.Revoked(*set, name);
  }

  pki_testing::Folder folder_;
  std::int64_t now_ms_ = 1'000'000'000;
  std::unique_ptr<HolderJournal> journal_;
  const std::unique_ptr<FleetStore> store_ = *OpenFleetStore("memory:");
};

constexpr v1::AccessRole kAgentRole = v1::ACCESS_ROLE_AGENT;
constexpr v1::AccessRole kAdminRole = v1::ACCESS_ROLE_ADMIN;

TEST_F(HolderJournalTest, AnOlderDatabaseBringsNobodyBack) {
  const std::unique_ptr<FleetStore> older = *OpenFleetStore("memory:");
  {
    const auto before = NewFleet(*older);
    ASSERT_TRUE(Enrol(*before, *older, Holder(kAgentRole, "gpu-01", "01"), false).ok());
  }
  {
    const auto fleet = NewFleet(*store_);
    ASSERT_TRUE(Enrol(*fleet, *store_, Holder(kAgentRole, "gpu-01", "01"), false).ok());
    Revoke(*fleet, *store_, "gpu-01");
  }
  const auto restored = NewFleet(*older);
  EXPECT_EQ(restored->Accepts(Holder(kAgentRole, "gpu-01", "01")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(restored->Holders().at(0).state(), "revoked");
  EXPECT_EQ(restored->Holders().at(0).revoked_by(), "admin/b");
}

TEST_F(HolderJournalTest, WhoWasEnrolledAgainIsGoodWithTheNewCertificatesAlone) {
  const std::unique_ptr<FleetStore> older = *OpenFleetStore("memory:");
  {
    const auto before = NewFleet(*older);
    ASSERT_TRUE(Enrol(*before, *older, Holder(kAgentRole, "gpu-01", "01"), false).ok());
  }
  {
    const auto fleet = NewFleet(*store_);
    ASSERT_TRUE(Enrol(*fleet, *store_, Holder(kAgentRole, "gpu-01", "01"), false).ok());
    Revoke(*fleet, *store_, "gpu-01");
    ASSERT_TRUE(Enrol(*fleet, *store_, Holder(kAgentRole, "gpu-01", "02"), true).ok());
    ASSERT_TRUE(Enrol(*fleet, *store_, Holder(kAgentRole, "gpu-01", "03"), true).ok());  // a renewal
  }
  for (FleetStore* store : {older.get(), store_.get()}) {
    const auto fleet = NewFleet(*store);
    EXPECT_EQ(fleet->Accepts(Holder(kAgentRole, "gpu-01", "01")).code(), absl::StatusCode::kPermissionDenied);
    EXPECT_TRUE(fleet->Accepts(Holder(kAgentRole, "gpu-01", "02")).ok()) << "good until it expires";
    EXPECT_TRUE(fleet->Accepts(Holder(kAgentRole, "gpu-01", "03")).ok());
  }
}

TEST_F(HolderJournalTest, ACredentialMadeOnTheDiskIsRevokedBeforeItsFirstUse) {
  const auto fleet = NewFleet(*store_);
  // By another process, while this one runs.
  ASSERT_TRUE(HolderJournal(folder_.path()).Append(Line(HolderEvent::kIssued, "eve", "0a")).ok());
  ASSERT_THAT(fleet->Holders(), SizeIs(1));
  EXPECT_EQ(fleet->Holders()[0].state(), "issued");
  Revoke(*fleet, *store_, "eve");
  EXPECT_EQ(fleet->Accepts(Holder(kAdminRole, "eve", "0a")).code(), absl::StatusCode::kPermissionDenied);
  // Made once more, after that: the new one is good, the old one is not.
  ASSERT_TRUE(HolderJournal(folder_.path()).Append(Line(HolderEvent::kIssued, "eve", "0b")).ok());
  EXPECT_TRUE(fleet->Accepts(Holder(kAdminRole, "eve", "0b")).ok());
  EXPECT_EQ(fleet->Accepts(Holder(kAdminRole, "eve", "0a")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(fleet->PrepareRevocation("evee", "admin/b", false).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(HolderJournalTest, WhoWasSeenOnceIsKnownAfterARestart) {
  {
    const auto fleet = NewFleet(*store_);
    EXPECT_TRUE(fleet->Accepts(Holder(kAdminRole, "foreign", "0c")).ok());
  }
  const auto fleet = NewFleet(*store_);
  Revoke(*fleet, *store_, "foreign");
  EXPECT_EQ(fleet->Accepts(Holder(kAdminRole, "foreign", "0c")).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(HolderJournalTest, LinesAreReadOnceAndWholeOnly) {
  HolderJournal journal(folder_.path());
  EXPECT_THAT(*journal.ReadNew(), IsEmpty());
  ASSERT_TRUE(journal.Append(Line(HolderEvent::kRevoked, "a@b", "0d")).ok());
  const std::vector<HolderLine> lines = *journal.ReadNew();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(FormatHolderLine(lines[0]), "900000 revoked admin/a@b 0d 2000000 -\n");
  EXPECT_THAT(*journal.ReadNew(), IsEmpty());
  for (const char* damaged :
       {"", "900000 revoked admin/a 0d 2000000", "x revoked admin/a 0d 1 -", "900000 banned admin/a 0d 1 -",
        "900000 revoked root/a 0d 1 -", "900000 revoked admin/../a 0d 1 -"}) {
    EXPECT_FALSE(ParseHolderLine(damaged)) << damaged;
  }
}

}  // namespace
}  // namespace paritect
