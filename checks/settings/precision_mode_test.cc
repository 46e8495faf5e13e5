#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr char kCheck[] = "migrated.mixed-precision.precision-mode";

struct Case {
  std::string product;
  std::string framework;
  KeysAndTexts options;
  std::string told;
};

// A session configuration states all that TensorFlow was given; elsewhere arguments do.
std::string Judge(const Case& one) {
  const std::string format = one.framework == "tensorflow" ? "session-config" : "yaml";
  KeysAndTexts options = one.options;
  options.emplace_back("iterations_per_loop", "1");
  return Verdict(kCheck, {}, {Npu({Arguments(format, options)}, one.framework, one.product)});
}

TEST(PrecisionMode, EveryProductNeedsItsOption) {
  const std::string wrong_v1 = "fail: precision_mode_wrong precision_mode";
  const std::string wrong_v2 = "fail: precision_mode_wrong precision_mode_v2";
  for (const std::string product : {"atlas-a2", "atlas-a3", "ascend-950"}) {
    for (const std::string framework : {"tensorflow", "pytorch", "mindspore"}) {
      SCOPED_TRACE(product + " " + framework);
      EXPECT_EQ(Judge({product, framework, {{"precision_mode_v2", "origin"}}, ""}), "pass");
      EXPECT_EQ(Judge({product, framework, {{"precision_mode", "must_keep_origin_dtype"}}, ""}), "pass");
      EXPECT_EQ(Judge({product, framework, {{"precision_mode_v2", "mixed_float16"}}, ""}), wrong_v2);
      EXPECT_EQ(Judge({product, framework, {{"precision_mode_v2", "fp16"}}, ""}), wrong_v2);
      EXPECT_EQ(Judge({product, framework, {{"precision_mode", "allow_fp32_to_fp16"}}, ""}), wrong_v1);
      EXPECT_EQ(Judge({product, framework, {{"precision_mode", "allow_mix_precision"}}, ""}), wrong_v1);
      EXPECT_EQ(Judge({product, framework, {{"precision_mode", "force_fp32"}}, ""}), wrong_v1);
      EXPECT_EQ(Judge({product, framework, {}, ""}), "pass");  // the default is what is needed
    }
  }
}

TEST(PrecisionMode, TheTrainingSeriesNeedsTheFirstOption) {
  for (const std::string framework : {"tensorflow", "pytorch", "mindspore"}) {
    SCOPED_TRACE(framework);
    const auto judge = [&](KeysAndTexts options) {
      return Judge({"atlas-training", framework, std::move(options), ""});
    };
    EXPECT_EQ(judge({{"precision_mode", "allow_fp32_to_fp16"}}), "pass");
    EXPECT_EQ(judge({{"precision_mode", "must_keep_origin_dtype"}}), "fail: precision_mode_wrong precision_mode");
    EXPECT_EQ(judge({{"precision_mode", "force_fp16"}}), "fail: precision_mode_wrong precision_mode");
    EXPECT_EQ(judge({{"precision_mode_v2", "origin"}}), "fail: precision_mode_wrong precision_mode_v2");
    // Documents disagree about MindSpore's default there: not known.
    EXPECT_EQ(judge({}), framework == "mindspore" ? "not_performed: !npu" : "pass");
  }
}

// FLAGS.mode, $MODE: the option is set, so the default does not count; and what it is set to is not known.
TEST(PrecisionMode, SetToWhatTheSourceDoesNotTell) {
  for (const char* option : {"precision_mode", "precision_mode_v2", "experimental_accelerate_train_mode"}) {
    SCOPED_TRACE(option);
    v1::SettingsDocument source =
        SettingsOf("session-config", "session-config", {{"iterations_per_loop", "1"}, {option, "FLAGS.mode"}});
    source.mutable_settings(1)->clear_value();
    EXPECT_EQ(Verdict(kCheck, {}, {Npu({source}, "tensorflow", "atlas-a2")}), "not_performed: !npu");
    EXPECT_EQ(Verdict(kCheck, {}, {Npu({source}, "tensorflow", "atlas-training")}), "not_performed: !npu");
    // Another source that states it is believed.
    const auto stated = Arguments("launch-script", {{"precision_mode_v2", "origin"}});
    if (option == std::string("precision_mode_v2")) {
      EXPECT_EQ(Verdict(kCheck, {}, {Npu({source, stated}, "tensorflow", "atlas-a2")}), "pass");
    }
  }
  // An empty text is no value either, and is not set.
  EXPECT_EQ(Judge({"atlas-a2", "tensorflow", {{"precision_mode", ""}}, ""}), "pass");
}

TEST(PrecisionMode, BothOptionsAreNeverLegal) {
  for (const std::string product : {"atlas-training", "atlas-a2", "atlas-a3", "ascend-950"}) {
    EXPECT_EQ(Judge({product,
                     "tensorflow",
                     {{"precision_mode", "must_keep_origin_dtype"}, {"precision_mode_v2", "origin"}},
                     ""}),
              "fail: options_conflict precision_mode");
  }
}

TEST(PrecisionMode, UnknownValues) {
  EXPECT_EQ(Judge({"atlas-a2", "tensorflow", {{"precision_mode_v2", "orgin"}}, ""}),
            "fail: unknown_value precision_mode_v2");
  // The older name belongs to the older option.
  EXPECT_EQ(Judge({"atlas-a2", "tensorflow", {{"precision_mode_v2", "must_keep_origin_dtype"}}, ""}),
            "fail: unknown_value precision_mode_v2");
  EXPECT_EQ(Judge({"atlas-training", "tensorflow", {{"precision_mode", "origin"}}, ""}),
            "fail: unknown_value precision_mode");
}

TEST(PrecisionMode, TheOlderNameIsNoted) {
  const v1::CheckResult result =
      ResultOf(kCheck, {}, {Npu({Arguments("yaml", {{"precision_mode", "must_keep_origin_dtype"}})})});
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_NOTE, "old_name"));
}

TEST(PrecisionMode, UnsetWhereADefaultIsNotKnown) {
  // TensorFlow without its session configuration: a script may set the option.
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("yaml", {{"lr", "1"}})}, "tensorflow")}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("yaml", {{"lr", "1"}})}, "")}), "not_performed: !npu");
}

TEST(PrecisionMode, UnknownProducts) {
  const auto document = Arguments("yaml", {{"precision_mode_v2", "origin"}});
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({document}, "pytorch", "")}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({document}, "pytorch", "nvidia")}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({document}, "pytorch", "ascend-inference")}), "not_performed: !npu");
  // A bare Ascend910 is two products.
  const auto bare = SettingsOf("npu-smi", "devices", {{"npu.name", "Ascend910"}});
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({document, bare}, "pytorch", "auto")}), "not_performed: !npu");
  const auto chip = SettingsOf("npu-smi", "devices", {{"npu.name", "910B3"}});
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({document, chip}, "pytorch", "auto")}), "pass");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({document, chip}, "pytorch", "atlas-training")}),
            "fail: conflict_within_side migrated: platform of npu");
}

TEST(PrecisionMode, EveryRunIsJudged) {
  const auto right = Arguments("yaml", {{"precision_mode_v2", "origin"}});
  const auto wrong = Arguments("yaml", {{"precision_mode_v2", "fp16"}});
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({right}), NodeOf("npu-b", "npu-1", "atlas-a2", "pytorch", {wrong})}),
            "fail: precision_mode_wrong precision_mode_v2");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({right}), NodeOf("npu-b", "npu-1", "atlas-a2", "pytorch", {})}),
            "not_performed: !npu-b");
}

TEST(PrecisionMode, PartOfTheEvidenceNeverPasses) {
  const auto right = Arguments("yaml", {{"precision_mode_v2", "origin"}});
  const auto wrong = Arguments("yaml", {{"precision_mode_v2", "fp16"}});
  EXPECT_EQ(Verdict(kCheck, {}, {WithUnreadable(Npu({right}))}), "not_performed: !npu-1");
  EXPECT_EQ(Verdict(kCheck, {}, {WithUnreadable(Npu({wrong}))}),
            "fail: precision_mode_wrong precision_mode_v2, !npu-1");
  // Two nodes that say other things.
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({right}), NodeOf("npu", "npu-2", "atlas-a2", "pytorch", {wrong})}),
            "fail: conflict_within_side migrated: precision_mode_v2");
}

}  // namespace
}  // namespace paritect
