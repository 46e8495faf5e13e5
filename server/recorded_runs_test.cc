#include "server/recorded_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Sample {
  std::string plan = "p";  // empty: a bundle of a version that stated none
  std::optional<int> rank;
  std::int64_t at = 0;
  std::int64_t began = 0;
  std::vector<std::string> logs = {"train.log"};
  std::vector<std::string> absent;
  std::string node = "n1";
  v1::BundleOrigin origin = v1::BUNDLE_ORIGIN_IMPORT;
  std::string source;
};

void AddPiece(v1::StoredBundle& bundle, const std::string& source, v1::Outcome outcome) {
  v1::Piece& piece = *bundle.add_pieces();
  piece.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  piece.set_outcome(outcome);
  piece.set_source(source);
  piece.set_sha256("equal");
}

v1::StoredBundle Stored(const Sample& sample) {
  v1::StoredBundle bundle;
  v1::PlanInfo& plan = *bundle.mutable_plan();
  plan.set_run("r");
  plan.set_node(sample.node);
  plan.set_plan_file("plan.yaml");
  if (!sample.plan.empty()) plan.mutable_identity()->set_key(sample.plan);
  if (sample.rank) plan.mutable_identity()->set_rank(*sample.rank);
  if (sample.began > 0) plan.mutable_identity()->set_began_unix_ms(sample.began);
  bundle.set_collected_at_unix_ms(sample.at);
  bundle.set_origin(sample.origin);
  bundle.set_source(sample.source);
  for (const std::string& log : sample.logs) AddPiece(bundle, log, v1::OUTCOME_COLLECTED);
  for (const std::string& log : sample.absent) AddPiece(bundle, log, v1::OUTCOME_ABSENT);
  return bundle;
}

// Times of collection of what counts.
std::vector<std::int64_t> Counted(const std::vector<Sample>& samples, const std::vector<std::string>& nodes = {}) {
  std::vector<v1::StoredBundle> bundles;
  for (const Sample& sample : samples) bundles.push_back(Stored(sample));
  const RecordedRun run = SortBundles(bundles, nodes);
  EXPECT_EQ(run.counted.size() + run.replaced.size() + run.left_out.size(), samples.size()) << "none vanishes";
  std::vector<std::int64_t> times;
  for (const v1::StoredBundle& one : run.counted) times.push_back(one.collected_at_unix_ms());
  return times;
}

TEST(SortBundles, ThePlanCollectedAgainCountsOnceTheNewest) {
  EXPECT_THAT(Counted({{.at = 2}, {.at = 3}, {.at = 1}}), ElementsAre(3));
}

TEST(SortBundles, AnotherPlanRankOrNodeIsAnotherPart) {
  EXPECT_THAT(Counted({{.plan = "a", .at = 1}, {.plan = "b", .at = 2}}), ElementsAre(1, 2));
  EXPECT_THAT(Counted({{.rank = 0, .at = 1}, {.rank = 1, .at = 2}, {.at = 3}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Counted({{.at = 1}, {.at = 2, .node = "n2"}}), ElementsAre(1, 2));
}

// One file of plan, written anew for each rank, is as many plans; one that was mended is the same.
TEST(SortBundles, APlanThatAsksForLessDoesNotReplace) {
  EXPECT_THAT(Counted({{.at = 1, .logs = {"rank0.log"}}, {.at = 2, .logs = {"rank1.log"}}}), ElementsAre(1, 2));
  EXPECT_THAT(Counted({{.at = 1, .logs = {"a"}}, {.at = 2, .logs = {"a", "b"}}}), ElementsAre(2));
  EXPECT_THAT(Counted({{.at = 1, .logs = {"a"}, .absent = {"typo"}}, {.at = 2, .logs = {"a", "right"}}}),
              ElementsAre(2));
  EXPECT_THAT(Counted({{.at = 1, .logs = {"a"}}, {.at = 2, .logs = {}, .absent = {"a"}}}), ElementsAre(2));
}

TEST(SortBundles, CommandsThatRanAtTheSameTimeAreNotOneAgain) {
  EXPECT_THAT(Counted({{.at = 50, .began = 10}, {.at = 51, .began = 10}}), ElementsAre(50, 51));
  EXPECT_THAT(Counted({{.at = 50, .began = 10}, {.at = 90, .began = 60}}), ElementsAre(90));
}

TEST(SortBundles, BundlesOfVersionsWithoutIdentityAreToldByTheirNames) {
  const auto before = [](std::int64_t at, const std::string& source) {
    return Sample{.plan = "", .at = at, .origin = v1::BUNDLE_ORIGIN_UNSPECIFIED, .source = source};
  };
  EXPECT_THAT(Counted({before(1, "audit a #1"), before(2, "audit a #2")}), ElementsAre(2));
  EXPECT_THAT(
      Counted({before(1, "import of r0.pbundle by operator/o"), before(2, "import of r1.pbundle by operator/o")}),
      ElementsAre(1, 2));
  // Collected again by a version that states it.
  EXPECT_THAT(Counted({before(1, "audit a #1"), {.at = 2, .origin = v1::BUNDLE_ORIGIN_AUDIT, .source = "audit a #2"}}),
              ElementsAre(2));
}

TEST(SortBundles, ARunBelongsToTheNodesThatAnAuditOrAnImportGaveIt) {
  const std::vector<Sample> mixed = {{.at = 1},
                                     {.at = 2, .node = "n2", .origin = v1::BUNDLE_ORIGIN_NODE},
                                     {.plan = "q", .at = 3, .origin = v1::BUNDLE_ORIGIN_NODE}};
  EXPECT_THAT(Counted(mixed), ElementsAre(1, 3));
  EXPECT_THAT(Counted(mixed, {"n*"}), ElementsAre(1, 3, 2));
  EXPECT_THAT(Counted(mixed, {"n2"}), ElementsAre(2));
  EXPECT_THAT(Counted(mixed, {"other"}), IsEmpty());
  EXPECT_THAT(
      Counted({{.at = 1, .origin = v1::BUNDLE_ORIGIN_NODE}, {.at = 2, .node = "n2", .origin = v1::BUNDLE_ORIGIN_NODE}}),
      ElementsAre(1, 2));
}

TEST(AddBundleDocument, WhatThePlanStatesIsPartOfTheKey) {
  WriteSet set;
  const std::string first = AddBundleDocument(Stored({.rank = 0}), set);
  EXPECT_NE(first, AddBundleDocument(Stored({.rank = 1}), set));
  EXPECT_EQ(first, AddBundleDocument(Stored({.rank = 0}), set));
}

TEST(ScanRun, FindsWhatEarlierVersionsWroteAndNothingElse) {
  const std::unique_ptr<FleetStore> store = *OpenFleetStore("memory:");
  const auto put = [&](const std::string& run, const std::string& key) {
    v1::StoredBundle bundle = Stored({});
    bundle.mutable_plan()->set_run(run);
    ASSERT_TRUE(CommitOne(*store, Documents({{"bundle", key, bundle.SerializeAsString()}})).ok());
  };
  put("exp1", BundleKey("exp1", "n1", "a"));
  put("exp1/lr3", BundleKey("exp1/lr3", "n1", "a"));
  put("exp1/lr3", "exp1/lr3/n1/00");
  put("exp10", BundleKey("exp10", "n1", "a"));
  for (const auto& [run, documents] : {std::pair("exp1", 1), std::pair("exp1/lr3", 2), std::pair("lr3", 0)}) {
    int seen = 0;
    ASSERT_TRUE(ScanRun(*store, run, [&](absl::string_view, const v1::StoredBundle* bundle) {
                  EXPECT_EQ(bundle->plan().run(), run);
                  ++seen;
                }).ok());
    EXPECT_EQ(seen, documents) << run;
  }
  EXPECT_TRUE(absl::IsNotFound(ReadRecordedRun(*store, "lr3", {}).status()));
}

}  // namespace
}  // namespace paritect
