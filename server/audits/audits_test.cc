#include "server/audits/audits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/digest.h"
#include "formats/bundle.h"
#include "server/audits/stored_runs.h"
#include "server/bundle_reader.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

constexpr char kAudit[] =
    "audit: a\n"
    "baseline: {nodes: [\"gpu-*\"], plans: [{run: g, logs: [/l]}]}\n"
    "migrated: {nodes: [\"npu-*\", npu-09], plans: [{run: n, logs: [/l]}]}\n";

class AuditsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenFleetStore("memory:");
    nodes_ = {{"gpu-01", true, 1, 0, 0}, {"npu-01", true, 1, 0, 0}};
    Open();
  }

  void Open() {
    AuditPorts ports;
    ports.nodes = [this] { return nodes_; };
    ports.dispatch = [this](const std::string& node, const v1::Task& task) { sent_.push_back(node + " " + task.id()); };
    ports.cancel = [this](const std::string& node, const std::string& id) { cancelled_.push_back(node + " " + id); };
    ports.commit = [this](WriteSet set) {
      std::lock_guard<std::mutex> lock(commit_mutex_);
      std::size_t bytes = 0;
      for (const auto& document : set.documents) bytes += document.value ? document.value->size() : 0;
      for (const auto& content : set.contents) bytes += content.bytes.size();
      if (bytes > disk_bytes_) return absl::ResourceExhaustedError("the disk is full");
      return CommitOne(*store_, set);
    };
    ports.not_stored = [this](const v1::AuditRun&, const absl::Status&) { ++not_stored_; };
    ports.stored_bundle = [this](const v1::NodeTask& task) {
      return CollectedBundle(*store_, task.task_id(), task.node());
    };
    ports.load_bundle = [this](const v1::StoredBundle& stored, MessageBudget& budget, ListsInCommon* lists) {
      return lists == nullptr ? LoadBundle(*store_, stored, budget) : LoadBundle(*store_, stored, budget, *lists);
    };
    ports.random_bytes = [](std::size_t n) { return std::string(n, 'k'); };
    ports.notify = [this](const std::string& url, const std::string& json) { notified_.push_back(url + " " + json); };
    AuditOptionsOfServer options;
    options.silent_after_ms = 1000;
    options.timeout_ms = 60'000;
    options.store_again_after = absl::Milliseconds(1);
    audits_ = std::make_unique<Audits>(
        *store_, BuiltInRules(), [this] { return now_ms_.load(); }, options, std::move(ports));
    ASSERT_TRUE(audits_->Load().ok());
  }

  // As if the node had delivered an empty bundle.
  void Deliver(const std::string& node, const std::string& task, const std::string& run = "") {
    v1::TaskEnd end;
    end.set_task_id(task);
    end.set_attempt(1);
    end.mutable_plan()->set_node(node);
    end.mutable_plan()->set_run(!run.empty() ? run : node[0] == 'g' ? "g" : "n");
    WriteSet set;
    set.documents.push_back({"task_end", TaskEndKey(task, node), end.SerializeAsString(), {}});
    {
      std::lock_guard<std::mutex> lock(commit_mutex_);
      ASSERT_TRUE(CommitOne(*store_, set).ok());
    }
    audits_->OnTaskEnd(node, 7, end);
  }

  v1::AuditRun WaitForEnd() {
    std::uint64_t revision = 0;
    for (int i = 0; i < 500; ++i) {
      auto run = audits_->WaitForChange("a", 0, revision, 20);
      if (run.ok() && run->state() != v1::AUDIT_RUN_STATE_COLLECTING && run->state() != v1::AUDIT_RUN_STATE_CHECKING) {
        return *run;
      }
    }
    ADD_FAILURE() << "the run did not end";
    return {};
  }

  std::atomic<std::int64_t> now_ms_ = std::int64_t{1'800'000'000} * 1000;
  std::mutex commit_mutex_;
  std::atomic<std::size_t> disk_bytes_ = std::size_t{1} << 40;  // no set of documents may be larger
  std::atomic<int> not_stored_ = 0;
  std::vector<KnownNode> nodes_;
  std::vector<std::string> sent_;
  std::vector<std::string> cancelled_;
  std::vector<std::string> notified_;
  std::unique_ptr<FleetStore> store_;
  std::unique_ptr<Audits> audits_;
};

TEST_F(AuditsTest, RunsToAReportWithSilentNodesAsRows) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  const auto number = audits_->Start("a", "operator/o", 0);
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(sent_.size(), 3u);  // npu-09 is named outright: a row, though it never joined
  EXPECT_TRUE(absl::IsFailedPrecondition(audits_->Start("a", "operator/o", 0).status()));
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();  // npu-09 is not enrolled: silent at once
  const v1::AuditRun run = WaitForEnd();
  EXPECT_EQ(run.state(), v1::AUDIT_RUN_STATE_DONE);
  ASSERT_EQ(run.silent_nodes_size(), 1);
  EXPECT_EQ(run.silent_nodes(0), "npu-09");
  const auto report = audits_->FindReport("a", 0);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->coverage().nodes_expected(), 3);
  EXPECT_EQ(report->coverage().nodes_reported(), 2);
  const auto evidence = audits_->Evidence("a", 1, Side::kMigrated);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_EQ(evidence->size(), 1u);
  const auto recorded = ReadRecordedRun(*store_, "g", {});
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  EXPECT_EQ(recorded->counted.at(0).origin(), v1::BUNDLE_ORIGIN_AUDIT);
  EXPECT_EQ(recorded->counted.at(0).stored_unix_ms(), now_ms_) << "retention goes by it";
}

TEST_F(AuditsTest, ARunThatAFullDiskKeepsFromBeingStoredEndsWhenThereIsSpace) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  ASSERT_TRUE(audits_->Start("a", "operator/o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  disk_bytes_ = 0;
  audits_->Tick();
  while (not_stored_ < 3) std::this_thread::yield();
  EXPECT_NE(audits_->FindRun("a", 1)->state(), v1::AUDIT_RUN_STATE_DONE);
  EXPECT_TRUE(absl::IsFailedPrecondition(audits_->Start("a", "operator/o", 0).status())) << "it is under way still";
  disk_bytes_ = std::size_t{1} << 40;
  const v1::AuditRun run = WaitForEnd();
  EXPECT_EQ(run.state(), v1::AUDIT_RUN_STATE_DONE);
  EXPECT_TRUE(audits_->FindReport("a", 1).ok());
}

TEST_F(AuditsTest, ARunWhoseReportCannotBeStoredSaysSo) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  ASSERT_TRUE(audits_->Start("a", "operator/o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  disk_bytes_ = 8000;  // room for the run, and none for its report
  audits_->Tick();
  const v1::AuditRun run = WaitForEnd();
  EXPECT_EQ(run.state(), v1::AUDIT_RUN_STATE_FAILED);
  EXPECT_EQ(run.problem(), "the report could not be stored: the disk is full");
  EXPECT_EQ(audits_->Runs("a")->at(0).state(), v1::AUDIT_RUN_STATE_FAILED) << "also in the store";
  disk_bytes_ = std::size_t{1} << 40;
  EXPECT_TRUE(audits_->Start("a", "operator/o", 0).ok());
}

TEST_F(AuditsTest, WhatANodeCollectedByItselfWhileTheDiskWasFullIsRecordedLater) {
  disk_bytes_ = 0;
  Deliver("gpu-01", "own:g:1800000000000");
  EXPECT_EQ(ReadRecordedRun(*store_, "g", {}).status().code(), absl::StatusCode::kNotFound);
  disk_bytes_ = std::size_t{1} << 40;
  now_ms_ += 60'000;
  audits_->Tick();
  EXPECT_TRUE(ReadRecordedRun(*store_, "g", {}).ok());
}

TEST_F(AuditsTest, WhatANodeCollectsByItselfIsARecordedRun) {
  Deliver("gpu-01", "own:g:1800000000000");
  const auto run = ReadRecordedRun(*store_, "g", {});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->counted.at(0).source(), "plan of node gpu-01");
  EXPECT_EQ(run->counted.at(0).origin(), v1::BUNDLE_ORIGIN_NODE);
}

// A bundle of one log: rank 0's, or another's.
v1::Bundle LogBundle(const std::string& run, const std::string& node, const std::string& plan, bool with_nan) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(run);
  bundle.mutable_plan()->set_node(node);
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  bundle.mutable_plan()->set_plan_file("plan.yaml");
  bundle.mutable_plan()->mutable_identity()->set_key(plan);
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("train.log");
  v1::RunLog& log = *evidence.mutable_run_log();
  log.set_format("text");
  for (int step = 1; step <= 300; ++step) {
    v1::StepRecord& record = *log.add_records();
    record.set_step(step);
    record.set_loss(with_nan && step == 200 ? std::nan("") : 2 + 6 * std::exp(-step / 50.0));
  }
  return bundle;
}

class RecordedRunsTest : public AuditsTest {
 protected:
  void Record(v1::Bundle bundle, v1::BundleOrigin origin, std::int64_t at) {
    bundle.set_collected_at_unix_ms(at);
    WriteSet set;
    v1::StoredBundle stored = *StoreBundle(bundle, set);
    stored.set_origin(origin);
    AddBundleDocument(stored, set);
    ASSERT_TRUE(CommitOne(*store_, set).ok());
  }

  v1::Report Judge(const std::string& text) {
    const auto created = audits_->Create(text, "a.yaml", false, "o");
    EXPECT_TRUE(created.ok()) << created.status();
    EXPECT_TRUE(audits_->Start("a", "o", 0).ok());
    EXPECT_EQ(WaitForEnd().state(), v1::AUDIT_RUN_STATE_DONE);
    auto report = audits_->FindReport("a", 0);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : v1::Report();
  }

  static v1::CheckResult Find(const v1::Report& report, absl::string_view id) {
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        if (check.id() == id) return check;
      }
    }
    ADD_FAILURE() << "no check " << id;
    return {};
  }

  static bool HasFinding(const v1::Report& report, absl::string_view kind) {
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        for (const v1::Finding& finding : check.findings()) {
          if (finding.kind() == kind && check.verdict() == v1::VERDICT_FAIL) return true;
        }
      }
    }
    return false;
  }

  static constexpr char kOfRuns[] = "audit: a\nbaseline: {runs: [g]}\nmigrated: {runs: [exp1]}\n";
};

TEST_F(RecordedRunsTest, TwoPlansOfOneNodeAreTwoParts) {
  Record(LogBundle("g", "gpu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("exp1", "npu-1", "rank0", true), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("exp1", "npu-1", "rank1", false), v1::BUNDLE_ORIGIN_IMPORT, 2);
  EXPECT_TRUE(HasFinding(Judge(kOfRuns), "nan_loss"));
}

TEST_F(RecordedRunsTest, ARunIsNotTheOneWhoseNameItBegins) {
  Record(LogBundle("g", "gpu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("exp1", "npu-1", "p", true), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("exp1/lr3", "npu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 2);
  EXPECT_TRUE(HasFinding(Judge(kOfRuns), "nan_loss"));
}

TEST_F(RecordedRunsTest, ARecordedRunSaysNoMoreOfItsNodesThanABundleDoes) {
  Record(LogBundle("g", "gpu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("exp1", "npu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  const v1::CheckResult nodes = Find(Judge(kOfRuns), "cluster.coverage.nodes");
  EXPECT_EQ(nodes.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(nodes.missing_size(), 2);
}

TEST_F(RecordedRunsTest, ANodeThatNobodyMadeOneOfTheRunsIsLeftOutAndTold) {
  Record(LogBundle("g", "gpu-1", "p", true), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("g", "npu-9", "p", false), v1::BUNDLE_ORIGIN_NODE, 2);
  Record(LogBundle("exp1", "npu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  const v1::Report report = Judge(kOfRuns);
  EXPECT_EQ(report.baseline().runs(0).nodes_size(), 1);
  bool told = false;
  const v1::CheckResult nodes = Find(report, "cluster.coverage.nodes");
  for (const v1::Missing& missing : nodes.missing()) {
    told = told || missing.from() == "npu-9";
  }
  EXPECT_TRUE(told);
}

TEST_F(RecordedRunsTest, TheAuditSaysWhoseBundlesCount) {
  Record(LogBundle("x", "gpu-1", "p", false), v1::BUNDLE_ORIGIN_NODE, 1);
  Record(LogBundle("x", "npu-1", "p", true), v1::BUNDLE_ORIGIN_NODE, 1);
  const absl::Status both =
      audits_->Create("audit: b\nbaseline: {runs: [x]}\nmigrated: {runs: [x]}\n", "b", false, "o").status();
  EXPECT_TRUE(absl::IsInvalidArgument(both)) << both;
  const absl::Status none =
      audits_->Create("audit: b\nbaseline: {runs: [{run: x, nodes: [cpu-*]}]}\n", "b", false, "o").status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_NE(none.message().find("gpu-1, npu-1"), std::string::npos) << none;
  const v1::Report report = Judge(
      "audit: a\nbaseline: {runs: [{run: x, nodes: ['gpu-*']}]}\nmigrated: {runs: [{run: x, nodes: ['npu-*']}]}\n");
  EXPECT_TRUE(HasFinding(report, "nan_loss"));
  const v1::CheckResult nodes = Find(report, "cluster.coverage.nodes");
  int shown = 0;
  for (const v1::Finding& finding : nodes.findings())
    shown += finding.message().en().find("left out") != std::string::npos;
  EXPECT_EQ(shown, 2);
}

TEST_F(RecordedRunsTest, PlansDoNotCollectUnderTheOtherSidesName) {
  Record(LogBundle("g", "gpu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  const absl::Status status =
      audits_
          ->Create("audit: a\nbaseline: {runs: [g]}\nmigrated: {nodes: [npu-01], plans: [{run: g, logs: [/l]}]}\n",
                   "a.yaml", false, "o")
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

// As the version before wrote it: no identity, no origin, the rank in a text, names in keys as they are.
void RecordInOldForm(FleetStore& store, v1::Bundle bundle, const std::string& plan_file, const std::string& source,
                     std::int64_t at) {
  bundle.mutable_plan()->clear_identity();
  bundle.mutable_plan()->set_plan_file(plan_file);
  bundle.set_collected_at_unix_ms(at);
  bundle = *ParseBundle(*SerializeBundle(bundle));  // a file of that version
  WriteSet set;
  v1::StoredBundle stored = *StoreBundle(bundle, set);
  stored.set_source(source);
  std::string digests;
  for (const v1::Piece& piece : stored.pieces()) digests += piece.sha256();
  const std::string key = absl::StrCat(stored.plan().run(), "/", stored.plan().node(), "/", ToHex(Sha256(digests)));
  set.documents.push_back({"bundle", key, stored.SerializeAsString(), PartsOf(stored)});
  ASSERT_TRUE(CommitOne(store, set).ok());
}

TEST_F(RecordedRunsTest, AStoreOfTheVersionBeforeIsRead) {
  audits_.reset();
  const std::string uri = absl::StrCat("sqlite:", NewStorePath("before"));
  store_ = *OpenFleetStore(uri);
  RecordInOldForm(*store_, LogBundle("g", "gpu-1", "", true), "audit base", "audit base #1", 1);
  RecordInOldForm(*store_, LogBundle("g", "gpu-1", "", false), "audit base", "audit base #2", 2);
  RecordInOldForm(*store_, LogBundle("exp1", "npu-1", "", true), "paritect run, rank 0", "plan of node npu-1", 3);
  RecordInOldForm(*store_, LogBundle("exp1", "npu-1", "", false), "paritect run, rank 1", "plan of node npu-1", 4);
  RecordInOldForm(*store_, LogBundle("exp1/lr3", "npu-1", "", false), "plan.yaml", "plan of node npu-1", 5);
  store_.reset();
  store_ = *OpenFleetStore(uri);
  Open();
  EXPECT_EQ(ReadRecordedRun(*store_, "exp1", {})->counted.size(), 2u);
  EXPECT_EQ(ReadRecordedRun(*store_, "exp1/lr3", {})->counted.size(), 1u);
  const auto baseline = ReadRecordedRun(*store_, "g", {});
  ASSERT_EQ(baseline->counted.size(), 1u);
  EXPECT_EQ(baseline->counted[0].collected_at_unix_ms(), 2);
  EXPECT_EQ(baseline->replaced.size(), 1u);
  EXPECT_TRUE(HasFinding(Judge(kOfRuns), "nan_loss"));
}

TEST_F(RecordedRunsTest, AnUnreadableBundleIsDamage) {
  Record(LogBundle("g", "gpu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  Record(LogBundle("exp1", "npu-1", "p", false), v1::BUNDLE_ORIGIN_IMPORT, 1);
  ASSERT_TRUE(CommitOne(*store_, Documents({{"bundle", BundleKey("exp1", "npu-1", "x"), "\xff\xff"}})).ok());
  EXPECT_EQ(Find(Judge(kOfRuns), "evidence.integrity.records").verdict(), v1::VERDICT_FAIL);
}

TEST_F(AuditsTest, AnAnswerIsOfTheRunThatWasAskedAbout) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0", "g");
  audits_->Tick();
  WaitForEnd();
  EXPECT_EQ(ReadRecordedRun(*store_, "g", {})->counted.size(), 1u);
  EXPECT_EQ(ReadRecordedRun(*store_, "n", {})->counted.size(), 1u);
}

TEST_F(AuditsTest, ANodeThatGoesAwayIsSilentAfterTheLimitAndLateAnswersCount) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  nodes_[1].online = false;
  audits_->Tick();
  Deliver("gpu-01", "a.1.b0");
  audits_->Tick();
  EXPECT_EQ(audits_->FindRun("a", 0)->state(), v1::AUDIT_RUN_STATE_COLLECTING);
  now_ms_ += 2000;
  audits_->Tick();
  EXPECT_EQ(WaitForEnd().silent_nodes_size(), 2);
}

// A number that came again would bring the evidence of a removed run with it.
TEST_F(AuditsTest, NumbersOfARemovedAuditAreNotGivenAgain) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();
  WaitForEnd();
  ASSERT_TRUE(audits_->Remove("a").ok());
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  EXPECT_EQ(*audits_->Start("a", "o", 0), 2);
}

TEST_F(AuditsTest, SurvivesARestart) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  audits_.reset();
  sent_.clear();
  Open();
  // What was delivered is not asked for again.
  for (const std::string& one : sent_) EXPECT_NE(one, "gpu-01 a.1.b0");
  EXPECT_EQ(audits_->TasksFor("npu-01", {}).size(), 1u);
  EXPECT_TRUE(audits_->TasksFor("npu-01", {"a.1.m0"}).empty());
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();
  EXPECT_EQ(WaitForEnd().state(), v1::AUDIT_RUN_STATE_DONE);
  EXPECT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());  // the same text again changes nothing
}

// What a process that was killed within its nth judgement of a run leaves.
void LeaveUnendedJudgements(FleetStore& store, int unended) {
  v1::AuditRun run;
  run.set_audit("a");
  run.set_number(1);
  WriteSet set;
  AddJudgingMark(run, unended, set);
  ASSERT_TRUE(CommitOne(store, set).ok());
}

TEST_F(AuditsTest, AServerThatWasKilledOnceInAJudgementJudgesAgain) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  ASSERT_TRUE(audits_->Start("a", "operator/o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  audits_.reset();
  LeaveUnendedJudgements(*store_, 1);
  Open();
  audits_->Tick();
  const v1::AuditRun ended = WaitForEnd();
  EXPECT_EQ(ended.state(), v1::AUDIT_RUN_STATE_DONE) << ended.problem();
  EXPECT_EQ(*UnendedJudgements(*store_, ended), 0);
}

TEST_F(AuditsTest, ARunThatEndedTheServerTwiceIsSetAsideAtTheNextStart) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  ASSERT_TRUE(audits_->Start("a", "operator/o", 0).ok());
  audits_.reset();
  LeaveUnendedJudgements(*store_, 2);
  Open();
  const auto aside = audits_->FindRun("a", 1);
  ASSERT_TRUE(aside.ok()) << aside.status();
  EXPECT_EQ(aside->state(), v1::AUDIT_RUN_STATE_FAILED);
  EXPECT_NE(aside->problem().find("set it aside"), std::string::npos);
  EXPECT_EQ(store_->ReadLog(1, 10)->back().action(), "SetAside");
  // It is told once, and the audit can be run again.
  audits_.reset();
  Open();
  EXPECT_TRUE(audits_->Start("a", "operator/o", 0).ok());
}

TEST_F(AuditsTest, AJudgementLeavesNoMark) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  ASSERT_TRUE(audits_->Start("a", "operator/o", 0).ok());
  Deliver("gpu-01", "a.1.b0");
  Deliver("npu-01", "a.1.m0");
  audits_->Tick();
  EXPECT_EQ(*UnendedJudgements(*store_, WaitForEnd()), 0);
}

TEST_F(AuditsTest, ARunIsCancelledWhileTheServerIsStopped) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "operator/o").ok());
  ASSERT_TRUE(audits_->Start("a", "operator/o", 0).ok());
  audits_.reset();
  WriteSet set;
  EXPECT_EQ(AddCancellations(*store_, "b", now_ms_, set)->size(), 0u);
  EXPECT_EQ(AddCancellations(*store_, "a", now_ms_, set)->size(), 1u);
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  Open();
  EXPECT_EQ(audits_->FindRun("a", 1)->state(), v1::AUDIT_RUN_STATE_CANCELLED);
  EXPECT_TRUE(audits_->Start("a", "operator/o", 0).ok());
}

TEST_F(AuditsTest, RefusesWithReasons) {
  EXPECT_EQ(audits_->Create("audit: a", "x.yaml", false, "o").status().message().substr(0, 7), "x.yaml:");
  EXPECT_TRUE(absl::IsNotFound(audits_->Start("none", "o", 0).status()));
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  const std::string other = absl::StrCat(kAudit, "schedule: 1h\n");
  EXPECT_TRUE(absl::IsAlreadyExists(audits_->Create(other, "a.yaml", false, "o").status()));
  EXPECT_TRUE(audits_->Create(other, "a.yaml", true, "o").ok());
  EXPECT_TRUE(absl::IsNotFound(audits_->FindReport("a", 0).status()));
  nodes_.clear();
  const absl::Status status = audits_->Start("a", "o", 0).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(std::string(status.message()).find("gpu-*"), std::string::npos);
}

TEST_F(AuditsTest, APlanThatNoNodeRunsAndANodeWithoutPlanAreErrors) {
  ASSERT_TRUE(audits_
                  ->Create("audit: a\nbaseline: {nodes: [gpu-01], plans: [{run: g, node: gpu-0l, logs: [/l]}]}\n",
                           "a.yaml", false, "o")
                  .ok());
  const absl::Status mistyped = audits_->Start("a", "o", 0).status();
  EXPECT_NE(std::string(mistyped.message()).find("gpu-0l"), std::string::npos) << mistyped;
  ASSERT_TRUE(
      audits_
          ->Create("audit: b\nmigrated: {nodes: [\"npu-*\", gpu-01], plans: [{run: n, node: npu-01, logs: [/l]}]}\n",
                   "b.yaml", false, "o")
          .ok());
  const absl::Status idle = audits_->Start("b", "o", 0).status();
  EXPECT_NE(std::string(idle.message()).find("gpu-01"), std::string::npos) << idle;
}

TEST_F(AuditsTest, ScheduleAndTimeLimit) {
  ASSERT_TRUE(audits_->Create(absl::StrCat(kAudit, "schedule: 1h\nwebhook: http://x/y\n"), "a.yaml", false, "o").ok());
  audits_->Tick();
  EXPECT_TRUE(sent_.empty());
  now_ms_ += 3'600'000;
  audits_->Tick();
  EXPECT_EQ(sent_.size(), 3u);
  now_ms_ += 61'000;
  audits_->Tick();
  const v1::AuditRun run = WaitForEnd();
  EXPECT_EQ(run.silent_nodes_size(), 3);
  EXPECT_EQ(cancelled_.size(), 2u);
  audits_->Stop();
  ASSERT_EQ(notified_.size(), 1u);
  EXPECT_NE(notified_[0].find("\"silent_nodes\":[\"gpu-01\""), std::string::npos);
}

TEST_F(AuditsTest, CancelEndsARun) {
  ASSERT_TRUE(audits_->Create(kAudit, "a.yaml", false, "o").ok());
  ASSERT_TRUE(audits_->Start("a", "o", 0).ok());
  ASSERT_TRUE(audits_->Cancel("a", 0).ok());
  EXPECT_EQ(WaitForEnd().state(), v1::AUDIT_RUN_STATE_CANCELLED);
  EXPECT_TRUE(absl::IsNotFound(audits_->Cancel("a", 0)));
}

}  // namespace
}  // namespace paritect
