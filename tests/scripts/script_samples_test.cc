// Well-behaved scripts of each framework, written for this test: none of them raises an error or a warning, alone or
// against itself, and each is read to its training.
#include "formats/python/script_reader.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

struct Sample {
  const char* name;
  const char* framework;
};

constexpr Sample kSamples[] = {{"torch_plain", "pytorch"},      {"hf_trainer", "pytorch"},    {"lightning", "pytorch"},
                               {"deepspeed_engine", "pytorch"}, {"megatron_style", "pytorch"}, {"tf_estimator", "tensorflow"},
                               {"keras_fit", "tensorflow"},     {"mindspore_model", "mindspore"}};

class ScriptSamples : public testing::TestWithParam<Sample> {};

TEST_P(ScriptSamples, RaiseNothing) {
  const Sample& sample = GetParam();
  const std::string script = ReadSample(absl::StrCat("samples/", sample.name, ".py"));
  const v1::Report report = Audit(BundleOf("gpu", sample.framework, "nvidia", script, ""), BundleOf("npu", sample.framework, "atlas-a2", script, ""));
  EXPECT_TRUE(Alarms(report).empty()) << testing::PrintToString(Alarms(report));
}

TEST_P(ScriptSamples, AreReadToTheirTraining) {
  const Sample& sample = GetParam();
  const v1::ScriptTree tree = ReadScripts({{"train.py", ReadSample(absl::StrCat("samples/", sample.name, ".py"))}}, {}, BuiltInRules().scripts);
  EXPECT_EQ(tree.trainers_size(), 1);
  EXPECT_TRUE(tree.whole());
}

INSTANTIATE_TEST_SUITE_P(All, ScriptSamples, testing::ValuesIn(kSamples), [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace paritect
