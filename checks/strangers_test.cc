#include "checks/strangers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checks/evidence_set.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

void Set(v1::Evidence& evidence, const std::string& key, const std::string& value) {
  v1::Setting& setting = *evidence.mutable_settings()->add_settings();
  setting.set_raw_key(key);
  setting.set_raw_value(value);
}

// A training process on a node, as its record becomes evidence: facts, a document of parameter groups, steps, weights.
v1::Bundle Node(const std::string& run, const std::string& node, bool assumed, int rank = 0) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(run);
  bundle.mutable_plan()->set_node(node);
  const auto add = [&](v1::EvidenceKind kind) -> v1::Evidence& {
    v1::Evidence& one = *bundle.add_evidence();
    one.set_kind(kind);
    one.set_outcome(v1::OUTCOME_COLLECTED);
    one.set_source(absl::StrCat("observe/", node, ".jsonl"));
    one.set_rank(rank);
    return one;
  };
  v1::Evidence& facts = add(v1::EVIDENCE_KIND_SETTINGS);
  facts.mutable_settings()->set_format("observed");
  for (const char* key : {"seed", "world_size", "optimizer", "observed.indices.1.digest", "observed.fed.0.digest",
                          "observed.generator.digest"}) {
    Set(facts, key, "1");
  }
  if (assumed) Set(facts, "observed.rank_assumed", "true");
  Set(add(v1::EVIDENCE_KIND_SETTINGS), "groups.0.lr", "0.1");
  add(v1::EVIDENCE_KIND_RUN_LOG).mutable_run_log();
  add(v1::EVIDENCE_KIND_WEIGHTS).mutable_weights();
  // Of another source: none of the process's.
  v1::Evidence& log = add(v1::EVIDENCE_KIND_RUN_LOG);
  log.set_source("train.log");
  log.mutable_run_log();
  return bundle;
}

std::vector<std::string> KeysOf(const v1::Bundle& bundle) {
  std::vector<std::string> keys;
  for (const v1::Evidence& one : bundle.evidence()) {
    for (const v1::Setting& setting : one.settings().settings()) keys.push_back(setting.raw_key());
  }
  return keys;
}

// Kind, and rank where it has one, of what was withheld.
std::vector<int> Withheld(const v1::Bundle& bundle) {
  std::vector<int> kinds;
  for (const v1::Evidence& one : bundle.evidence()) {
    if (one.problem().id() != "observed_unpaired") continue;
    EXPECT_EQ(one.outcome(), v1::OUTCOME_FAILED);
    EXPECT_FALSE(one.has_rank());
    EXPECT_EQ(one.payload_case(), v1::Evidence::PAYLOAD_NOT_SET);
    kinds.push_back(one.kind());
  }
  return kinds;
}

TEST(Strangers, OfSeveralNodesNobodyKnowsWhichIsWhich) {
  const EvidenceSet set({Node("gpu", "a", true), Node("gpu", "b", true), Node("other", "a", true)},
                        {Node("npu", "c", true)});
  for (int i = 0; i < 2; ++i) {
    const v1::Bundle& bundle = set.bundles(Side::kBaseline)[static_cast<std::size_t>(i)];
    EXPECT_THAT(Withheld(bundle), ElementsAre(v1::EVIDENCE_KIND_RUN_LOG, v1::EVIDENCE_KIND_WEIGHTS));
    EXPECT_THAT(KeysOf(bundle), ElementsAre("optimizer", "observed.rank_assumed", "observed.unpaired", "groups.0.lr"));
    EXPECT_FALSE(bundle.evidence(0).has_rank());
    EXPECT_TRUE(bundle.evidence(4).has_run_log()) << "a log that the plan names is none of the observer's";
  }
  // The only process of its run is its rank 0.
  EXPECT_THAT(Withheld(set.bundles(Side::kBaseline)[2]), IsEmpty());
  EXPECT_THAT(Withheld(set.bundles(Side::kMigrated)[0]), IsEmpty());
  EXPECT_EQ(set.bundles(Side::kMigrated)[0].evidence(0).rank(), 0);
}

TEST(Strangers, RanksThatAreStatedStand) {
  std::vector<v1::Bundle> bundles = {Node("gpu", "a", false, 0), Node("gpu", "b", false, 1)};
  WithholdFromStrangers(bundles);
  EXPECT_THAT(Withheld(bundles[0]), IsEmpty());
  EXPECT_EQ(bundles[1].evidence(0).rank(), 1);
  // One that states none beside one that does.
  bundles.push_back(Node("gpu", "c", true));
  WithholdFromStrangers(bundles);
  EXPECT_THAT(Withheld(bundles[1]), IsEmpty());
  EXPECT_THAT(Withheld(bundles[2]), ElementsAre(v1::EVIDENCE_KIND_RUN_LOG, v1::EVIDENCE_KIND_WEIGHTS));
}

TEST(Strangers, SeveralInOneFolder) {
  std::vector<v1::Bundle> bundles = {Node("gpu", "a", true)};
  const v1::Bundle other = Node("gpu", "b", true);
  for (const v1::Evidence& one : other.evidence()) *bundles[0].add_evidence() = one;
  WithholdFromStrangers(bundles);
  EXPECT_THAT(Withheld(bundles[0]), UnorderedElementsAre(v1::EVIDENCE_KIND_RUN_LOG, v1::EVIDENCE_KIND_RUN_LOG,
                                                         v1::EVIDENCE_KIND_WEIGHTS, v1::EVIDENCE_KIND_WEIGHTS));
}

}  // namespace
}  // namespace paritect
