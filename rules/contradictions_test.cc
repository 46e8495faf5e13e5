#include "rules/contradictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<ContradictionRules> Read(absl::string_view text) {
  const auto root = ParseDocument(text);
  EXPECT_TRUE(root.ok()) << root.status();
  return root.ok() ? ReadContradictions(*root) : root.status();
}

TEST(Contradictions, AKindTakesAwayItsPartsAndWhatRestsOnThem) {
  const auto rules = Read(
      "kinds: [{kind: a, parts: [steps, seed], severity: error}, {kind: b, parts: [seed], severity: warning}]\n"
      "parts: [{part: steps, checks: [\"convergence.*\", \"*.loss-scale\"]}, {part: seed, checks: [x.seed]}]\n");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_THAT(rules->PartsOf("a"), ElementsAre("steps", "seed"));
  EXPECT_THAT(rules->PartsOf("unheard"), IsEmpty());
  EXPECT_TRUE(rules->kinds.find("a")->second.error);
  EXPECT_FALSE(rules->kinds.find("b")->second.error);
  EXPECT_TRUE(rules->Rests("convergence.final", "steps"));
  EXPECT_TRUE(rules->Rests("migrated.loss-scale", "seed,steps"));
  EXPECT_FALSE(rules->Rests("convergence.final", "seed"));
  EXPECT_FALSE(rules->Rests("x.seeds", "seed"));
  // A part of which a newer version tells: nothing may rest on what is not known.
  EXPECT_TRUE(rules->Rests("x.other", "unheard"));
}

TEST(Contradictions, EveryPartOfTheEmbeddedKindsIsKnown) {
  const ContradictionRules& rules = BuiltInContradictions();
  EXPECT_FALSE(rules.kinds.empty());
  for (const auto& [name, kind] : rules.kinds) {
    for (const std::string& part : kind.parts) EXPECT_TRUE(rules.checks.contains(part)) << name << ": " << part;
  }
}

TEST(Contradictions, BadEntriesAreNamed) {
  const struct {
    const char* text;
    const char* told;
  } kBad[] = {
      // One part, as folders of rules of an earlier version have it.
      {"kinds: [{kind: a, part: steps, severity: error}]\nparts: [{part: steps, checks: [x]}]", "part"},
      {"kinds: [{kind: a, severity: error}]\nparts: []", "a kind needs"},
      {"kinds: [{kind: a, parts: [steps], severity: grave}]\nparts: []", "severity"},
      {"kinds: [{kind: a, parts: [steps], severity: error}]\nparts: []", "the part 'steps' of 'a' has no checks"},
      {"kinds: []\nparts: [{part: steps, checks: []}]", "a part needs"},
      {"sorts: []", "sorts"},
  };
  for (const auto& [text, told] : kBad) {
    const auto rules = Read(text);
    EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(rules.status().message(), HasSubstr(told)) << text;
  }
}

}  // namespace
}  // namespace paritect
