#include "server/diagnosis.h"

#include <gtest/gtest.h>

#include "server/audits/stored_runs.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

class DiagnosisTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenFleetStore("memory:");
    input_.free_bytes = std::int64_t{100} << 30;
    input_.now_unix_ms = std::int64_t{1'800'000'000} * 1000;
    input_.certificate_expires_unix = 1'800'000'000 + 300 * 86'400;
    input_.nodes = {{"gpu-01", true, 1, 0, 0}};
    input_.audits.emplace_back().set_name("a");
  }

  v1::DiagnosisLine Line(const std::string& id) {
    const v1::DiagnosisResponse response = Diagnosis(*store_, input_);
    for (const v1::DiagnosisLine& line : response.lines()) {
      if (line.id() == id) return line;
    }
    return {};
  }

  // A run of the audit that asked the node when so many records of it were lost.
  void Run(std::int64_t number, std::int64_t lost_before) {
    v1::AuditRun run;
    run.set_audit("a");
    run.set_number(number);
    run.set_state(v1::AUDIT_RUN_STATE_DONE);
    run.add_tasks()->set_node("gpu-01");
    if (lost_before > 0) (*run.mutable_lost_before())["gpu-01"] = lost_before;
    WriteSet set;
    AddNewRun(run, set);
    AddJudgedRun(run, set);
    ASSERT_TRUE(CommitOne(*store_, set).ok());
  }

  std::unique_ptr<FleetStore> store_;
  DiagnosisInput input_;
};

TEST_F(DiagnosisTest, WhatIsWellIsOk) {
  const v1::DiagnosisResponse response = Diagnosis(*store_, input_);
  for (const v1::DiagnosisLine& line : response.lines()) EXPECT_EQ(line.state(), "ok") << line.ShortDebugString();
}

TEST_F(DiagnosisTest, ADiskThatIsFullOrNearlySoIsTold) {
  input_.free_bytes = kFreeBytesWanted - 1;
  EXPECT_EQ(Line("disk").state(), "warning");
  EXPECT_EQ(Line("writing").state(), "ok");
  input_.writing = absl::ResourceExhaustedError("the disk is full");
  EXPECT_EQ(Line("writing").state(), "error");
  EXPECT_EQ(Line("writing").message(), "the disk is full");
  EXPECT_NE(Line("writing").remedy(), "");
  input_.free_bytes = absl::InternalError("not to be told");
  EXPECT_EQ(Line("disk").id(), "") << "unknown is no warning";
}

TEST_F(DiagnosisTest, AConnectedNodeWhoseClockIsOffIsNamed) {
  input_.nodes[0].clock_offset_ms = -1'999;
  EXPECT_EQ(Line("node_clocks").state(), "ok");
  input_.nodes[0].clock_offset_ms = -3 * 3'600'000;
  EXPECT_EQ(Line("node_clocks").state(), "warning");
  EXPECT_NE(Line("node_clocks").message().find("gpu-01"), std::string::npos);
  input_.nodes[0].online = false;
  EXPECT_EQ(Line("node_clocks").state(), "ok") << "what it was when it went says nothing of now";
}

// Right after a restart nobody is told to revoke nodes that are on their way.
TEST_F(DiagnosisTest, ANodeThatIsAwayForLongIsAWarningAndOneThatComesBackIsNot) {
  input_.nodes[0].online = false;
  EXPECT_EQ(Line("nodes").state(), "warning") << "the server runs since long, and it was seen long ago";
  input_.start_unix_ms = input_.now_unix_ms - kComesBackMs + 1;
  EXPECT_EQ(Line("nodes").state(), "ok");
  EXPECT_EQ(Line("nodes").message(), "0 of 1 enrolled nodes are connected; 1 expected back within a minute or two");
  input_.nodes[0].last_seen_unix_ms = 0;
  EXPECT_EQ(Line("nodes").state(), "warning") << "it never was there: nothing starts it";
  input_.start_unix_ms = 0;
  input_.nodes[0].last_seen_unix_ms = input_.now_unix_ms - kComesBackMs + 1;
  EXPECT_EQ(Line("nodes").state(), "ok") << "its connection was lost a moment ago";
  input_.nodes[0].last_seen_unix_ms = input_.now_unix_ms - kComesBackMs;
  EXPECT_EQ(Line("nodes").state(), "warning");
}

TEST_F(DiagnosisTest, LossesAreAWarningUntilTheAuditsThatRestOnThemRanAgain) {
  input_.nodes[0].lost_records = 41;
  EXPECT_EQ(Line("lost_records").state(), "ok") << "no audit asked that node: nobody could mend it";
  Run(1, 0);
  EXPECT_EQ(Line("lost_records").state(), "warning");
  EXPECT_NE(Line("lost_records").message().find("41 records were lost, by gpu-01, since the newest run began of: a"),
            std::string::npos)
      << Line("lost_records").message();
  Run(2, 41);
  EXPECT_EQ(Line("lost_records").state(), "ok");
  input_.nodes[0].lost_records = 42;
  EXPECT_EQ(Line("lost_records").state(), "warning") << "more was lost since";
  input_.nodes[0].revoked = true;
  EXPECT_EQ(Line("lost_records").state(), "ok") << "a revoked node mends nothing";
}

TEST_F(DiagnosisTest, DamageThatReadingFoundIsAnError) {
  v1::DiagnosisResponse response;
  AddIntegrity(std::vector<std::string>{"page 3"}, response);
  AddIntegrity(std::vector<std::string>{}, response);
  EXPECT_EQ(response.lines(0).state(), "error");
  EXPECT_EQ(response.lines(0).message(), "page 3");
  EXPECT_EQ(response.lines(1).state(), "ok");
}

}  // namespace
}  // namespace paritect
