#include "formats/plan_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

// By reflection, so that a source that a plan learns is asked for here.
TEST(PlanSources, EveryPathOfEverySourceIsNamed) {
  const google::protobuf::Descriptor* plan_type = v1::Plan::descriptor();
  int kinds = 0;
  for (int i = 0; i < plan_type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = plan_type->field(i);
    if (!field->is_repeated() || field->message_type() == nullptr) continue;
    ASSERT_TRUE(absl::EndsWith(field->message_type()->name(), "Source")) << field->name();
    ++kinds;
    for (int k = 0; k < field->message_type()->field_count(); ++k) {
      const google::protobuf::FieldDescriptor* part = field->message_type()->field(k);
      if (part->type() != google::protobuf::FieldDescriptor::TYPE_BYTES) continue;  // paths are bytes
      v1::Plan plan;
      google::protobuf::Message* one = plan.GetReflection()->AddMessage(&plan, field);
      one->GetReflection()->SetString(one, part, "/a/path");
      const std::vector<PlanSource> sources = SourcesOf(plan);
      ASSERT_EQ(sources.size(), 1U) << field->name() << " is left out";
      EXPECT_THAT(sources[0].paths, ElementsAre("/a/path")) << field->name() << "." << part->name();
      one->GetReflection()->SetString(one, part, "path");
      MovePaths("moved", plan);
      EXPECT_THAT(SourcesOf(plan)[0].paths, ElementsAre("moved/path")) << field->name() << "." << part->name();
    }
  }
  EXPECT_EQ(kinds, 8);
}

TEST(PlanSources, EvidenceIsFiledUnderTheFirstPath) {
  v1::Plan plan;
  v1::DatasetSource& set = *plan.add_datasets();
  set.set_name("train");
  set.set_root("/data");
  set.set_manifest("/list.md5");
  set.mutable_at()->set_line(7);
  plan.add_datasets()->set_listing("/names");
  const std::vector<PlanSource> sources = SourcesOf(plan);
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0].kind, v1::EVIDENCE_KIND_DATASET_FILES);
  EXPECT_THAT(sources[0].paths, ElementsAre("/data", "/list.md5"));
  EXPECT_EQ(sources[0].subject, "train");
  EXPECT_EQ(sources[0].at->line(), 7);
  EXPECT_EQ(sources[1].kind, v1::EVIDENCE_KIND_DATASET_LISTING);
}

}  // namespace
}  // namespace paritect
