#include "formats/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/plan.h"
#include "formats/plan_sources.h"

namespace paritect {
namespace {

using google::protobuf::FieldDescriptor;

// By reflection, so that a source that a plan learns is asked for here: one that is not written would be gone from a
// drafted plan in silence.
TEST(PlanText, EveryPathOfEverySourceIsWritten) {
  const google::protobuf::Descriptor* plan_type = v1::Plan::descriptor();
  for (int i = 0; i < plan_type->field_count(); ++i) {
    const FieldDescriptor* field = plan_type->field(i);
    if (!field->is_repeated() || field->message_type() == nullptr) continue;
    for (int k = 0; k < field->message_type()->field_count(); ++k) {
      const FieldDescriptor* part = field->message_type()->field(k);
      if (part->type() != FieldDescriptor::TYPE_BYTES) continue;  // paths are bytes
      v1::Plan plan;
      plan.mutable_info()->set_run("r");
      google::protobuf::Message* one = plan.GetReflection()->AddMessage(&plan, field);
      one->GetReflection()->SetString(one, part, "/a/path");
      if (const FieldDescriptor* name = one->GetDescriptor()->FindFieldByName("name")) {
        one->GetReflection()->SetString(one, name, "set");
      }
      const std::string text = PlanToText(plan, {});
      const auto read = ParsePlan(text);
      ASSERT_TRUE(read.ok()) << text << read.status();
      const std::vector<PlanSource> sources = SourcesOf(*read);
      ASSERT_EQ(sources.size(), 1U) << field->name() << "." << part->name() << " is not written:\n" << text;
      EXPECT_EQ(sources[0].key, field->name());
      EXPECT_THAT(sources[0].paths, testing::ElementsAre("/a/path"));
    }
  }
}

TEST(PlanText, ANameThatIsNotUtf8BecomesARemark) {
  v1::Plan plan;
  plan.add_logs()->set_file("log\xff");
  EXPECT_THAT(PlanToText(plan, {}), testing::HasSubstr("# log\\xFF: this name is not UTF-8"));
}

}  // namespace
}  // namespace paritect
