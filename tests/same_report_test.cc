// One law for both ways to an audit: the bundles of a case, judged by a server as recorded runs, give the report that
// the audit without a server gives, but for what only a server can be asked (evidence.integrity).
// The field cases lie beside the repository; where they do not, the test is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "checks/runner.h"
#include "common/digest.h"
#include "common/document.h"
#include "common/file_system.h"
#include "formats/bundle.h"
#include "formats/plan.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/audits/audits.h"
#include "server/bundle_reader.h"
#include "server/recorded_runs.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using Json = nlohmann::json;

constexpr char kCases[] = PARITECT_SOURCE_DIR "/../shared/cases";
constexpr std::int64_t kNowMs = std::int64_t{1'800'000'000} * 1000;

struct Case {
  std::string folder;
  Json run;
};

// What `paritect check` is asked in the cases; those kept in archives are left to the programs' own tests.
std::vector<Case> CheckRuns() {
  std::vector<std::string> folders;
  (void)PosixFileSystem().List(kCases, [&](const DirectoryEntry& entry) { folders.push_back(entry.name); });
  std::sort(folders.begin(), folders.end());
  std::vector<Case> out;
  for (const std::string& name : folders) {
    const std::string folder = absl::StrCat(kCases, "/", name);
    std::ifstream file(folder + "/case.json");
    std::stringstream text;
    text << file.rdbuf();
    const Json parsed = Json::parse(text.str(), nullptr, false);
    if (!parsed.is_object()) continue;
    for (const Json& run : parsed["runs"]) {
      if (run.value("command", "") == "check") out.push_back({folder, run});
    }
  }
  return out;
}

// The side's bundles in the order in which a server has them: by run, then by node, then as they were collected.
std::vector<v1::Bundle> Collect(const Case& one, const std::string& side) {
  std::vector<v1::Bundle> bundles;
  if (!one.run.contains(side)) return bundles;
  std::vector<std::string> runs;
  for (const Json& text : one.run[side]) {
    auto plan = ParsePlan(text.dump());
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) continue;
    plan->set_base(one.folder);
    v1::PlanInfo& info = *plan->mutable_info();
    info.set_plan_file(absl::StrCat(one.folder, "/", side, bundles.size(), ".yaml"));
    info.mutable_identity()->set_key(absl::StrCat(side, bundles.size()));
    // One name on both sides would be one run on a server.
    info.set_run(absl::StrCat(side, ".", info.run()));
    if (info.node().empty()) info.set_node("this-host");
    if (std::find(runs.begin(), runs.end(), info.run()) == runs.end()) runs.push_back(info.run());
    const CollectorEnv env = {.fs = PosixFileSystem(), .rules = BuiltInRules(), .for_bundle = true};
    v1::Bundle bundle = CollectPlan(env, *plan);
    bundle.set_collected_at_unix_ms(static_cast<std::int64_t>(bundles.size()) + 1);
    // As a file and back, as both ways have it.
    auto bytes = SerializeBundle(bundle);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    bundles.push_back(*ParseBundle(*bytes));
  }
  const auto place = [&runs](const v1::Bundle& bundle) {
    return std::pair(std::find(runs.begin(), runs.end(), bundle.plan().run()) - runs.begin(), bundle.plan().node());
  };
  std::stable_sort(bundles.begin(), bundles.end(),
                   [&](const v1::Bundle& a, const v1::Bundle& b) { return place(a) < place(b); });
  return bundles;
}

Json AuditText(const Case& one, const std::vector<v1::Bundle> (&sides)[2]) {
  Json text = {{"audit", "a"}};
  for (int side = 0; side < 2; ++side) {
    std::vector<std::string> runs;
    for (const v1::Bundle& bundle : sides[side]) {
      if (std::find(runs.begin(), runs.end(), bundle.plan().run()) == runs.end()) runs.push_back(bundle.plan().run());
    }
    if (!runs.empty()) text[side == 0 ? "baseline" : "migrated"] = {{"runs", runs}};
  }
  if (one.run.contains("profile")) text["profile"] = one.run["profile"];
  return text;
}

absl::StatusOr<v1::Report> ReportOfServer(const Case& one, std::vector<v1::Bundle> (&sides)[2]) {
  const std::unique_ptr<FleetStore> store = *OpenFleetStore("memory:");
  for (std::vector<v1::Bundle>& side : sides) {
    for (v1::Bundle& bundle : side) {
      WriteSet set;
      auto stored = StoreBundle(bundle, set);
      if (!stored.ok()) return stored.status();
      stored->set_origin(v1::BUNDLE_ORIGIN_IMPORT);
      AddBundleDocument(*stored, set);
      if (absl::Status status = CommitOne(*store, set); !status.ok()) return status;
    }
  }
  AuditPorts ports;
  ports.nodes = [] { return std::vector<KnownNode>(); };
  ports.commit = [&](const WriteSet& set) { return CommitOne(*store, set); };
  ports.load_bundle = [&](const v1::StoredBundle& stored, MessageBudget& budget, ListsInCommon* lists) {
    return lists == nullptr ? LoadBundle(*store, stored, budget) : LoadBundle(*store, stored, budget, *lists);
  };
  ports.random_bytes = [](std::size_t n) { return std::string(n, 'k'); };
  Audits audits(
      *store, BuiltInRules(), [] { return kNowMs; }, {}, std::move(ports));
  if (absl::Status status = audits.Load(); !status.ok()) return status;
  const auto created = audits.Create(AuditText(one, sides).dump(), "audit.json", false, "operator/o");
  if (!created.ok()) return created.status();
  if (auto started = audits.Start("a", "operator/o", 0); !started.ok()) return started.status();
  std::uint64_t revision = 0;
  for (int i = 0; i < 600; ++i) {
    auto run = audits.WaitForChange("a", 0, revision, 200);
    if (!run.ok()) return run.status();
    if (run->state() == v1::AUDIT_RUN_STATE_DONE) return audits.FindReport("a", 0);
    if (run->state() == v1::AUDIT_RUN_STATE_FAILED) return absl::InternalError(run->problem());
  }
  return absl::DeadlineExceededError("the run did not end");
}

absl::StatusOr<v1::Report> ReportWithoutServer(const Case& one, std::vector<v1::Bundle> (&sides)[2]) {
  Profile profile = BuiltInRules().profile;
  if (one.run.contains("profile")) {
    auto document = ParseDocument(one.run["profile"].dump(), {});
    if (!document.ok()) return document.status();
    auto read = ReadProfile(*document, profile);
    if (!read.ok()) return read.status();
    profile = *std::move(read);
  }
  AuditOptions options;
  options.today = FormatDate(kNowMs);
  return RunAudit(EvidenceSet(sides[0], sides[1]), profile, BuiltInRules(), options);
}

void DropIntegrity(v1::Report& report) {
  auto& items = *report.mutable_items();
  items.erase(std::remove_if(items.begin(), items.end(),
                             [](const v1::ItemResult& item) { return item.id() == "evidence.integrity"; }),
              items.end());
}

TEST(SameReport, OverEveryFieldCase) {
  const std::vector<Case> cases = CheckRuns();
  if (cases.empty()) GTEST_SKIP() << "no cases in " << kCases;
  for (const Case& one : cases) {
    SCOPED_TRACE(absl::StrCat(one.folder, " ", one.run.value("variant", "")));
    std::vector<v1::Bundle> sides[2] = {Collect(one, "baseline"), Collect(one, "migrated")};
    auto here = ReportWithoutServer(one, sides);
    ASSERT_TRUE(here.ok()) << here.status();
    auto there = ReportOfServer(one, sides);
    ASSERT_TRUE(there.ok()) << there.status();
    DropIntegrity(*here);
    DropIntegrity(*there);
    google::protobuf::util::MessageDifferencer differencer;
    std::string differences;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(*here, *there)) << differences;
  }
}

// Nodes that hold the same list, long enough to be kept once; one of them differs where `odd` says so.
std::vector<v1::Bundle> Nodes(const std::string& run, int count, int odd) {
  constexpr int kFiles = 2 * SharedLists::kFilesMin;
  std::vector<v1::Bundle> bundles;
  for (int node = 0; node < count; ++node) {
    v1::Bundle& bundle = bundles.emplace_back();
    v1::PlanInfo& info = *bundle.mutable_plan();
    info.set_run(run);
    info.set_node(absl::StrCat("node-", node));
    info.set_role(v1::ROLE_RUN);
    info.mutable_identity()->set_key(absl::StrCat(run, node));
    bundle.set_collected_at_unix_ms(node + 1);
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source("/data/train");
    evidence.set_subject("train");
    v1::FileList& list = *evidence.mutable_files();
    list.set_dataset("train");
    list.set_format("tree");
    list.set_root("/data/train");
    for (int i = 0; i < kFiles; ++i) {
      v1::FileEntry& file = *list.add_files();
      file.set_path(absl::StrCat("part-", 1000 + i, ".bin"));
      file.set_type(v1::FILE_TYPE_REGULAR);
      file.set_size_bytes(100);
      file.set_md5(Md5(absl::StrCat(node == odd && i == 7 ? "other" : "", i)));
    }
  }
  return bundles;
}

// A server keeps equal lists once; whoever then looks into one of the others must still see its files.
TEST(SameReport, OverNodesThatHoldOneList) {
  for (const int odd : {-1, 0, 2}) {
    for (const int baseline : {1, 3}) {
      SCOPED_TRACE(absl::StrCat(odd, " ", baseline));
      const Case none = {"", Json::object()};
      std::vector<v1::Bundle> sides[2] = {Nodes("baseline.run", baseline, -1), Nodes("migrated.run", 3, odd)};
      auto here = ReportWithoutServer(none, sides);
      ASSERT_TRUE(here.ok()) << here.status();
      auto there = ReportOfServer(none, sides);
      ASSERT_TRUE(there.ok()) << there.status();
      DropIntegrity(*here);
      DropIntegrity(*there);
      EXPECT_EQ(here->DebugString(), there->DebugString());
      EXPECT_EQ(absl::StrContains(there->DebugString(), "content_differs"), odd >= 0);
    }
  }
}

}  // namespace
}  // namespace paritect
