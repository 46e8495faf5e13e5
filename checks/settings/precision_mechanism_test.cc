#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

const KeysAndTexts kBf16 = {{"bf16", "True"}, {"fp16", "False"}};
const KeysAndTexts kFp16 = {{"bf16", "False"}, {"fp16", "True"}};
const KeysAndTexts kNeither = {{"bf16", "False"}, {"fp16", "False"}};

v1::SettingsDocument Megatron(const KeysAndTexts& values) {
  return Arguments("megatron-args", values);
}

v1::Bundle WithLossScale(v1::Bundle bundle, double scale) {
  bundle = WithEnd(std::move(bundle), v1::RunEnd::STATE_FINISHED);
  bundle.mutable_evidence()->rbegin()->mutable_run_log()->mutable_records(0)->set_loss_scale(scale);
  return bundle;
}

TEST(MixedPrecisionEnabled, ByStatedOptions) {
  EXPECT_EQ(Verdict("baseline.mixed-precision.enabled", {Gpu({Megatron(kBf16)})}, {}), "pass");
  EXPECT_EQ(Verdict("baseline.mixed-precision.enabled", {Gpu({Megatron(kNeither)})}, {}),
            "fail: mixed_precision_off gpu");
  EXPECT_EQ(Verdict("baseline.mixed-precision.enabled", {Gpu({Megatron({{"lr", "1"}})})}, {}), "not_performed: !gpu");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({Megatron(kFp16)})}), "pass");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({Megatron(kNeither)})}),
            "fail: mixed_precision_off npu");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {WithUnreadable(Npu({Megatron(kFp16)}))}),
            "not_performed: !npu-1");
}

TEST(MixedPrecisionEnabled, ALossScaleInTheLogIsEvidence) {
  EXPECT_EQ(Verdict("baseline.mixed-precision.enabled", {WithLossScale(Gpu({}), 65536)}, {}), "pass");
  // A scale of 1 scales nothing.
  EXPECT_NE(Verdict("baseline.mixed-precision.enabled", {WithLossScale(Gpu({}), 1)}, {}), "pass");
  // One run of two does not speak for the other.
  EXPECT_NE(Verdict("baseline.mixed-precision.enabled",
                    {NodeOf("other", "gpu-1", "nvidia", "pytorch", {}), WithLossScale(Gpu({}), 65536)}, {}),
            "pass");
}

TEST(SingleMechanism, OneOfThem) {
  const char kCheck[] = "migrated.mixed-precision.single-mechanism";
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Megatron(kBf16)})}), "pass");
  EXPECT_EQ(Verdict("baseline.mixed-precision.single-mechanism", {Gpu({Megatron(kBf16)})}, {}), "pass");
  // Casts in a script are not seen in its configuration.
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("yaml", kBf16)})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Megatron({{"lr", "1"}})})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {},
                    {Npu({Megatron(kFp16), Arguments("session-config", {{"precision_mode", "allow_mix_precision"}})})}),
            "fail: two_mechanisms npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Megatron(kFp16), Arguments("apex-options", {{"opt_level", "O2"}})})}),
            "fail: two_mechanisms npu");
}

TEST(SingleMechanism, AnAutocastThatIsSeenInTheProcessIsTheOneThatTheProgramsOptionTurnsOn) {
  const char kCheck[] = "migrated.mixed-precision.single-mechanism";
  const v1::SettingsDocument seen = Arguments("observed", {{"amp_wrapper", "amp"}});
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("argparse-namespace", {{"fp16", "True"}}), seen})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("hf-training-args-json", {{"fp16", "True"}}), seen})}), "pass");
  // Megatron casts its weights: an autocast is another way beside it.
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Megatron(kFp16), seen})}), "fail: two_mechanisms npu");
}

TEST(SingleMechanism, AProcessThatWasSeenToComputeInFloat32HasNone) {
  const char kCheck[] = "migrated.mixed-precision.single-mechanism";
  const auto seen = [](const std::string& wrapper, const std::string& dtype) {
    return Arguments("observed", {{"amp_wrapper", wrapper}, {"compute_dtype", dtype}});
  };
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({seen("plain", "float32")})}), "pass");
  // Weights in the short type are a mechanism of their own, and what only an option says is not seen.
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({seen("plain", "bfloat16")})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("observed", {{"compute_dtype", "float32"}})})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Npu({Arguments("yaml", {{"amp_wrapper", "plain"}, {"compute_dtype", "float32"}})})}),
            "not_performed: !npu");
}

TEST(SameMechanism, TypeAndLevel) {
  const char kCheck[] = "migrated.mixed-precision.same-mechanism";
  const auto apex = [](const std::string& level) { return Arguments("apex-options", {{"opt_level", level}}); };
  EXPECT_EQ(Verdict(kCheck, {Gpu({Megatron(kBf16)})}, {Npu({Megatron(kBf16)})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {Gpu({Megatron(kBf16)})}, {Npu({Megatron(kFp16)})}), "fail: dtype_differs compute type");
  EXPECT_EQ(Verdict(kCheck, {Gpu({apex("O1")})}, {Npu({apex("O1")})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {Gpu({apex("O1")})}, {Npu({apex("O2")})}), "fail: mechanism_differs mechanism");
  EXPECT_EQ(Verdict(kCheck, {Gpu({apex("O1")})}, {Npu({Megatron(kFp16)})}), "fail: mechanism_differs mechanism");
  EXPECT_EQ(Verdict(kCheck, {Gpu({Megatron({{"lr", "1"}})})}, {Npu({Megatron(kFp16)})}), "not_performed: !gpu");
}

// "--fp16" of a program of one's own says what is wanted, not how it is done.
TEST(SameMechanism, AnOptionOfAProgramOfOnesOwnIsNoMechanism) {
  const char kCheck[] = "migrated.mixed-precision.same-mechanism";
  const auto option = Arguments("argparse-namespace", {{"fp16", "True"}});
  const auto seen = Arguments("observed", {{"amp_wrapper", "amp"}});
  EXPECT_EQ(Verdict(kCheck, {Gpu({option})}, {Npu({seen})}), "not_performed: !gpu");
  EXPECT_EQ(Verdict(kCheck, {Gpu({seen})}, {Npu({option})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {Gpu({Megatron(kFp16)})}, {Npu({seen})}), "fail: mechanism_differs mechanism");
}

TEST(SameMechanism, EveryMigratedRunIsCompared) {
  const auto second = NodeOf("npu-b", "npu-1", "atlas-a2", "pytorch", {Megatron(kFp16)});
  EXPECT_EQ(
      Verdict("migrated.mixed-precision.same-mechanism", {Gpu({Megatron(kBf16)})}, {Npu({Megatron(kBf16)}), second}),
      "fail: dtype_differs compute type");
}

TEST(InfNanMode, ByProduct) {
  const char kCheck[] = "migrated.mixed-precision.inf-nan";
  const auto judge = [&](const std::string& product, const KeysAndTexts& variables) {
    return Verdict(kCheck, {}, {Npu({Environment(variables)}, "pytorch", product)});
  };
  for (const std::string product : {"atlas-a2", "atlas-a3"}) {
    SCOPED_TRACE(product);
    EXPECT_EQ(judge(product, {{"TZ", "UTC"}}), "pass");
    EXPECT_EQ(judge(product, {{"INF_NAN_MODE_ENABLE", "1"}}), "pass");
    EXPECT_EQ(judge(product, {{"INF_NAN_MODE_ENABLE", "0"}, {"INF_NAN_MODE_FORCE_DISABLE", "1"}}),
              "fail: saturation_mode npu-1");
    EXPECT_EQ(judge(product, {{"INF_NAN_MODE_FORCE_DISABLE", "1"}}), "fail: saturation_mode npu-1");
    EXPECT_EQ(judge(product, {{"MS_ASCEND_CHECK_OVERFLOW_MODE", "SATURATION_MODE"}}), "fail: saturation_mode npu-1");
    EXPECT_EQ(judge(product, {{"INF_NAN_MODE_ENABLE", "0"}}), "pass: ~saturation_mode npu-1");
  }
  for (const std::string product : {"atlas-training", "ascend-950"}) {
    SCOPED_TRACE(product);
    EXPECT_EQ(judge(product, {{"INF_NAN_MODE_ENABLE", "0"}}), "pass");
  }
  EXPECT_EQ(judge("", {{"TZ", "UTC"}}), "not_performed: !npu");
  // The environment of the second node was not recorded.
  EXPECT_EQ(
      Verdict(kCheck, {},
              {Npu({Environment({{"TZ", "UTC"}})}), NodeOf("npu", "npu-2", "atlas-a2", "pytorch", {Megatron(kBf16)})}),
      "not_performed: !npu-2");
}

// DeepSpeed's `amp` is apex: its switch and its level are one mechanism, and off means off.
TEST(SingleMechanism, TheSwitchOfApexIsNoSecondOne) {
  const auto amp = [](const std::string& enabled, const std::string& level) {
    return Arguments(
        "deepspeed-json",
        {{"amp.enabled", enabled}, {"amp.opt_level", level}, {"fp16.enabled", "false"}, {"bf16.enabled", "false"}});
  };
  EXPECT_EQ(Verdict("migrated.mixed-precision.single-mechanism", {}, {Npu({amp("true", "O1")})}), "pass");
  const char kSame[] = "migrated.mixed-precision.same-mechanism";
  EXPECT_EQ(Verdict(kSame, {Gpu({amp("true", "O1")})}, {Npu({amp("true", "O1")})}), "pass");
  EXPECT_EQ(Verdict(kSame, {Gpu({amp("true", "O1")})}, {Npu({amp("true", "O2")})}),
            "fail: mechanism_differs mechanism");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({amp("false", "O1")})}),
            "fail: mixed_precision_off npu");
}

TEST(SameMechanism, SpellingsOfLightningAccelerateAndMmengine) {
  const char kSame[] = "migrated.mixed-precision.same-mechanism";
  const auto precision = [](const std::string& word) { return Arguments("yaml", {{"trainer.precision", word}}); };
  EXPECT_EQ(Verdict(kSame, {Gpu({precision("16")})}, {Npu({precision("16-mixed")})}), "pass");
  EXPECT_EQ(Verdict(kSame, {Gpu({precision("16-mixed")})}, {Npu({precision("bf16-mixed")})}),
            "fail: dtype_differs compute type");
  EXPECT_EQ(Verdict(kSame, {Gpu({precision("bf16-mixed")})}, {Npu({precision("bf16-true")})}),
            "fail: mechanism_differs mechanism");
  EXPECT_EQ(Verdict(kSame, {Gpu({precision("16-mixed")})}, {Npu({precision("32-true")})}),
            "fail: dtype_differs compute type");
  const auto launch = [](const std::string& word) {
    return Arguments("launch-script", {{"launch.mixed_precision", word}});
  };
  EXPECT_EQ(Verdict(kSame, {Gpu({launch("fp16")})}, {Npu({launch("bf16")})}), "fail: dtype_differs compute type");
  const auto mmengine = [](KeysAndTexts keys) { return Arguments("mmengine-config", keys); };
  const auto amp = mmengine({{"optim_wrapper.type", "AmpOptimWrapper"}});
  EXPECT_EQ(Verdict(kSame, {Gpu({amp})}, {Npu({amp})}), "pass");
  EXPECT_EQ(Verdict(kSame, {Gpu({amp})}, {Npu({mmengine({{"optim_wrapper.type", "OptimWrapper"}})})}),
            "fail: dtype_differs compute type");
  EXPECT_EQ(
      Verdict(kSame, {Gpu({amp})},
              {Npu({mmengine({{"optim_wrapper.type", "AmpOptimWrapper"}, {"optim_wrapper.dtype", "bfloat16"}})})}),
      "fail: dtype_differs compute type");
  EXPECT_EQ(
      Verdict("migrated.mixed-precision.enabled", {}, {Npu({mmengine({{"optim_wrapper.type", "OptimWrapper"}})})}),
      "fail: mixed_precision_off npu");
}

// One side's short type is known, and the other says that it did not ask for it.
TEST(ComputeTypes, AnOptionThatOneSideLeftOff) {
  const char kSame[] = "migrated.mixed-precision.same-mechanism";
  const auto line = [](KeysAndTexts more) {
    KeysAndTexts all = {{"per_device_train_batch_size", "8"}, {"output_dir", "out"}};
    all.insert(all.end(), more.begin(), more.end());
    return Arguments("launch-script", all);
  };
  const auto banner = [](KeysAndTexts keys) { return SettingsOf("hf-banner", "printed", keys); };
  const auto steps = banner({{"banner.per_device_batch_size", "8"}});
  const auto half = line({{"fp16", "true"}});
  EXPECT_EQ(Verdict(kSame, {Gpu({half, banner({{"banner.fp16", "True"}})})},
                    {Npu({line({}), banner({{"banner.fp16", "False"}})})}),
            "fail: dtype_differs compute type");
  EXPECT_EQ(Verdict(kSame, {Gpu({half, steps})}, {Npu({line({}), steps})}), "fail: dtype_differs compute type");
  EXPECT_EQ(Verdict(kSame, {Gpu({line({}), steps})}, {Npu({line({{"bf16", "true"}}), steps})}),
            "fail: dtype_differs compute type");
  // A program of one's own may have it on by itself, and an engine's file may decide.
  EXPECT_EQ(Verdict(kSame, {Gpu({half})}, {Npu({line({})})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kSame, {Gpu({half, steps})},
                    {Npu({line({}), steps, Arguments("deepspeed-json", {{"zero_optimization.stage", "2"}})})}),
            "not_performed: !npu");
}

}  // namespace
}  // namespace paritect
