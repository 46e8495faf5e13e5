#include "rules/evidence_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// By reflection, so that a new kind is asked for its key and its names here, and no list of kinds parts from another.
TEST(EvidenceKinds, EveryKindHasItsKeyAndItsNames) {
  const google::protobuf::EnumDescriptor* type = v1::EvidenceKind_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    const auto kind = static_cast<v1::EvidenceKind>(type->value(i)->number());
    if (kind == v1::EVIDENCE_KIND_UNSPECIFIED) continue;
    EXPECT_NE(PlanKeyOf(kind), "") << type->value(i)->name();
    absl::string_view name = type->value(i)->name();
    ASSERT_TRUE(absl::ConsumePrefix(&name, "EVIDENCE_KIND_"));
    const std::string word = absl::AsciiStrToLower(name);
    for (const std::string& id : {absl::StrCat("kind_", word), absl::StrCat("page_kind_", word)}) {
      EXPECT_TRUE(BuiltInRules().messages.Has(id)) << id << " is no message";
    }
  }
}

TEST(EvidenceKinds, AKeyBringsItsKinds) {
  EXPECT_THAT(KindsOf("datasets"), ElementsAre(v1::EVIDENCE_KIND_DATASET_FILES, v1::EVIDENCE_KIND_DATASET_LISTING));
  EXPECT_THAT(KindsOf("logs"), ElementsAre(v1::EVIDENCE_KIND_RUN_LOG));
  EXPECT_THAT(KindsOf("observed"), IsEmpty());
  EXPECT_EQ(PlanKeyOf(v1::EVIDENCE_KIND_UNSPECIFIED), "");
}

}  // namespace
}  // namespace paritect
