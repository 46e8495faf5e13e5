// Which of several sources counts, what a contradiction is, and when a default counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

constexpr char kValues[] = "model.hyperparameters.values";
constexpr char kRate[] = "model.hyperparameters.learning-rate";

v1::SettingsDocument Yaml(const KeysAndTexts& values) {
  return Arguments("yaml", values);
}
v1::SettingsDocument Script(const KeysAndTexts& values) {
  return SettingsOf("launch-script", "script", values);
}
v1::Bundle WithPrinted(v1::Bundle bundle, v1::SettingsDocument document) {
  bundle = WithEmptyLog(std::move(bundle));
  *bundle.mutable_evidence()->rbegin()->mutable_run_log()->add_settings() = std::move(document);
  return bundle;
}

TEST(SourceOrder, AnOrdinaryOverrideIsANote) {
  const auto documents = [](const std::string& file, const std::string& command) {
    return std::vector<v1::SettingsDocument>{Yaml({{"weight_decay", file}, {"lr", "1e-3"}}),
                                             Script({{"weight_decay", command}})};
  };
  const auto gpu = [&](const std::string& file, const std::string& command) { return Gpu(documents(file, command)); };
  const auto npu = [&](const std::string& file, const std::string& command) { return Npu(documents(file, command)); };
  EXPECT_EQ(Verdict(kValues, {gpu("0.1", "0.01")}, {npu("0.1", "0.01")}), "pass");
  EXPECT_TRUE(HasKind(ResultOf(kValues, {gpu("0.1", "0.01")}, {npu("0.1", "0.01")}), v1::SEVERITY_NOTE, "overridden"));
  // The same file, another command: what counts differs.
  EXPECT_EQ(Verdict(kValues, {gpu("0.1", "0.01")}, {npu("0.1", "0.02")}), "fail: value_differs weight_decay");
  // Another file under the same command: nothing that counts differs.
  EXPECT_EQ(Verdict(kValues, {gpu("0.1", "0.01")}, {npu("0.5", "0.01")}), "pass");
}

TEST(SourceOrder, WhatTheRunPrintedCounts) {
  const auto run = [](v1::Bundle bundle, const std::string& printed) {
    return WithPrinted(std::move(bundle), Arguments("argparse-namespace", {{"weight_decay", printed}, {"lr", "1"}}));
  };
  const v1::SettingsDocument script = Script({{"weight_decay", "0.1"}});
  EXPECT_EQ(Verdict(kValues, {run(Gpu({script}), "0.1")}, {run(Npu({script}), "0.01")}),
            "fail: value_differs weight_decay, ~overridden migrated: weight_decay");
  EXPECT_EQ(Verdict(kValues, {run(Gpu({script}), "0.01")}, {run(Npu({script}), "0.01")}),
            "pass: ~overridden baseline: weight_decay, ~overridden migrated: weight_decay");
}

TEST(SourceOrder, SourcesOfOneRankThatDisagreeAreAConflict) {
  const v1::SettingsDocument a = Yaml({{"weight_decay", "0.1"}});
  const v1::SettingsDocument b = Arguments("json", {{"weight_decay", "0.2"}});
  EXPECT_EQ(Verdict(kValues, {Gpu({a, b})}, {Npu({a})}), "fail: conflict_within_side baseline: weight_decay");
  v1::Bundle fact = Npu({a});
  (*fact.mutable_plan()->mutable_facts())["weight_decay"].set_number(0.3);
  EXPECT_EQ(Verdict(kValues, {Gpu({a})}, {fact}), "fail: conflict_within_side migrated: weight_decay");
}

TEST(SourceOrder, AScheduleHidesNoConflictOfTheOptimizersRate) {
  const auto engine = [](const std::string& peak) {
    return Arguments("deepspeed-json", {{"optimizer.params.lr", "2e-5"}, {"scheduler.params.warmup_max_lr", peak}});
  };
  const auto trainer = [](const std::string& rate) {
    return Arguments("hf-training-args-json", {{"learning_rate", rate}, {"deepspeed", "ds.json"}});
  };
  const v1::Bundle good = Gpu({engine("2e-5"), trainer("2e-5")});
  EXPECT_EQ(Verdict(kRate, {good}, {Npu({engine("2e-5"), trainer("6e-5")})}),
            "fail: conflict_within_side migrated: lr_base");
  EXPECT_EQ(Verdict(kRate, {good}, {Npu({engine("2e-5"), trainer("2e-5")})}), "pass");
  // The trainer's against the peak, also without a rate of the engine's optimizer.
  const v1::SettingsDocument only_peak = Arguments("deepspeed-json", {{"scheduler.params.warmup_max_lr", "2e-5"}});
  EXPECT_EQ(Verdict(kRate, {good}, {Npu({only_peak, trainer("6e-5")})}),
            "fail: conflict_within_side migrated: lr_base");
  // On the command line it is the trainer's all the same.
  EXPECT_EQ(Verdict(kRate, {good}, {Npu({engine("2e-5"), Script({{"learning_rate", "7e-5"}})})}),
            "fail: conflict_within_side migrated: lr_base");
}

TEST(Sections, TheNearestToTheRootCountsAndTheRestStaySeen) {
  const auto two = [](const std::string& root, const std::string& inner) {
    return Yaml({{"lr", root}, {"optim.lr", inner}, {"weight_decay", "0.1"}});
  };
  EXPECT_EQ(Verdict(kRate, {Gpu({two("1", "2")})}, {Npu({two("1", "2")})}), "pass");
  EXPECT_EQ(Verdict(kRate, {Gpu({two("1", "2")})}, {Npu({two("3", "2")})}), "fail: learning_rate_differs lr_base");
  EXPECT_EQ(Verdict(kValues, {Gpu({two("1", "2")})}, {Npu({two("1", "3")})}).substr(0, 13), "not_performed");
  // Two sections of one depth: nobody knows which is meant.
  const auto either = [](const std::string& a, const std::string& b) {
    return Yaml({{"training.lr", a}, {"args.lr", b}, {"weight_decay", "0.1"}});
  };
  EXPECT_EQ(Verdict(kRate, {Gpu({either("1", "2")})}, {Npu({either("1", "3")})}).substr(0, 13), "not_performed");
  EXPECT_EQ(Verdict(kRate, {Gpu({either("1", "1")})}, {Npu({either("1", "1")})}), "pass");
}

TEST(Defaults, CountOnlyWhereTheRunIsShownToUseTheLibrary) {
  const v1::SettingsDocument file = Arguments("llamafactory-yaml", {{"stage", "sft"}, {"weight_decay", "0.1"}});
  const v1::SettingsDocument packages = PackagesOf({{"package.llamafactory", "0.9.1"}, {"package.torch", "2.1.0"}});
  const v1::SettingsDocument launch = Script({{"launch.command", "llamafactory-cli"}});
  EXPECT_EQ(Verdict(kRate, {Gpu({file})}, {Npu({file})}), "not_performed: !gpu, !npu");
  EXPECT_EQ(Verdict(kRate, {Gpu({file, packages})}, {Npu({file, launch})}), "pass");
  // Not beside a key that may be the same thing.
  const v1::SettingsDocument doubt =
      Arguments("llamafactory-yaml", {{"stage", "sft"}, {"tuner.peak_lr", "1e-4"}, {"weight_decay", "0.1"}});
  EXPECT_EQ(Verdict(kRate, {Gpu({doubt, packages})}, {Npu({doubt, packages})}), "not_performed: !gpu, !npu");
}

TEST(Frameworks, FollowFromWhatRanAndWhatIsInstalled) {
  const auto framework = [](const std::vector<v1::SettingsDocument>& documents) {
    const EvidenceSet evidence({NodeOf("gpu", "gpu-1", "nvidia", "auto", documents)}, {});
    const CheckContext context{evidence, BuiltInRules().profile, BuiltInRules()};
    return SettingsView::Of(context, Side::kBaseline, evidence.Runs(Side::kBaseline)[0]).framework();
  };
  const v1::SettingsDocument both = PackagesOf({{"package.torch", "2.1.0"}, {"package.mindspore", "2.3.0"}});
  EXPECT_EQ(framework({PackagesOf({{"package.torch", "2.1.0"}})}), "pytorch");
  EXPECT_EQ(framework({PackagesOf({{"package.mindspore", "2.3.0"}})}), "mindspore");
  EXPECT_EQ(framework({both}), "");
  EXPECT_EQ(framework({both, Script({{"launch.command", "msrun"}})}), "mindspore");
  EXPECT_EQ(framework({both, Script({{"launch.command", "torchrun"}})}), "pytorch");
  EXPECT_EQ(framework({Script({{"launch.m", "torch.distributed.launch"}})}), "pytorch");
  EXPECT_EQ(framework({Arguments("megatron-args", {{"lr", "1"}})}), "pytorch");
  // The look of a file shows nothing.
  EXPECT_EQ(framework({Arguments("mindformers-yaml", {{"runner_config.epochs", "1"}})}), "");
}

TEST(Warmup, EpochsBecomeStepsByTheStepsOfAnEpoch) {
  const v1::SettingsDocument steps =
      Yaml({{"lr", "1"}, {"lr_scheduler", "cosine"}, {"warmup_steps", "500"}, {"max_steps", "7500"}});
  const auto epochs = [](const std::string& warmup, const std::string& key, const std::string& value) {
    return Yaml({{"lr", "1"}, {"scheduler", "cosine"}, {"warmup_epochs", warmup}, {"epochs", "30"}, {key, value}});
  };
  for (const auto& [key, value] :
       KeysAndTexts{{"steps_per_epoch", "250"}, {"iters_per_epoch", "250"}, {"max_steps", "7500"}}) {
    EXPECT_EQ(Verdict(kRate, {Gpu({steps})}, {Npu({epochs("2", key, value)})}), "pass") << key;
    EXPECT_EQ(Verdict(kRate, {Gpu({steps})}, {Npu({epochs("5", key, value)})}), "fail: warmup_differs warmup") << key;
  }
  EXPECT_EQ(Verdict(kRate, {Gpu({steps})}, {Npu({epochs("2", "x", "1")})}), "not_performed: !npu");
}

TEST(Batch, OfUnknownMeaningIsComparedWhereBothMeaningsAgree) {
  const auto side = [](const std::string& batch, const std::string& ranks) {
    return Yaml({{"batch_size", batch}, {"world_size", ranks}, {"lr", "1"}});
  };
  constexpr char kBatch[] = "model.hyperparameters.global-batch";
  EXPECT_EQ(Verdict(kBatch, {Gpu({side("32", "8")})}, {Npu({side("32", "8")})}), "pass");
  EXPECT_EQ(Verdict(kBatch, {Gpu({side("32", "8")})}, {Npu({side("64", "8")})}),
            "fail: global_batch_differs batch_size");
  EXPECT_EQ(Verdict(kBatch, {Gpu({side("32", "8")})}, {Npu({side("32", "16")})}), "not_performed: !gpu, !npu");
  EXPECT_EQ(Verdict(kBatch, {Gpu({side("32", "1")})}, {Npu({Yaml({{"global_batch_size", "32"}})})}), "pass");
}

TEST(Transforms, AreOneValueInTheirOrder) {
  const KeysAndTexts resize = {{"type", "Resize"}, {"size", "224"}};
  const KeysAndTexts flip = {{"type", "RandomFlip"}, {"prob", "0.5"}};
  const auto list = [](const std::vector<KeysAndTexts>& steps) {
    KeysAndTexts out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const auto& [key, value] : steps[i])
        out.emplace_back(absl::StrCat("train_dataset.transforms.", i, ".", key), value);
    }
    return Yaml(out);
  };
  constexpr char kTransform[] = "data.preprocessing.transform";
  const v1::Bundle gpu = Gpu({list({resize, flip})});
  const std::string differs = "fail: transform_differs transform_steps, !npu";
  EXPECT_EQ(Verdict(kTransform, {gpu}, {Npu({list({flip, resize})})}), differs);
  EXPECT_EQ(Verdict(kTransform, {gpu}, {Npu({list({resize})})}), differs);
  EXPECT_EQ(Verdict(kTransform, {gpu}, {Npu({list({{{"type", "Resize"}, {"size", "256"}}, flip})})}), differs);
  EXPECT_EQ(Verdict(kTransform, {gpu}, {Npu({list({{{"size", "224"}, {"type", "Resize"}}, flip})})}),
            "not_performed: !npu");
}

TEST(Differences, NeverShowTheSameValueOnBothSides) {
  const v1::CheckResult result =
      ResultOf(kValues, {Gpu({Yaml({{"tie_word_embeddings", "False"}, {"lr", "1"}})})},
               {Npu({Yaml({{"untie_embeddings_and_output_weights", "False"}, {"lr", "1"}})})});
  ASSERT_TRUE(HasKind(result, v1::SEVERITY_ERROR, "value_differs"));
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() != "value_differs") continue;
    EXPECT_EQ(finding.baseline(), "true (tie_word_embeddings=False, yaml:1)");
    EXPECT_EQ(finding.migrated(), "False (yaml:1)");
  }
}

TEST(Precision, NamesOfTheComputingType) {
  constexpr char kSame[] = "migrated.mixed-precision.same-mechanism";
  const auto one = [](const std::string& key, const std::string& value) { return Yaml({{key, value}, {"lr", "1"}}); };
  EXPECT_EQ(Verdict(kSame, {Gpu({one("dtype", "float16")})}, {Npu({one("dtype", "bfloat16")})}),
            "fail: dtype_differs compute type");
  EXPECT_EQ(Verdict(kSame, {Gpu({one("use_fp16", "True")})}, {Npu({one("use_bf16", "True")})}),
            "fail: dtype_differs compute type");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({one("dtype", "bfloat16")})}), "not_performed: !npu");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({one("dtype", "float32")})}),
            "fail: mixed_precision_off npu");
}

TEST(Precision, AVariableCountsWhereTheRunReadsIt) {
  constexpr char kSame[] = "migrated.mixed-precision.same-mechanism";
  const v1::SettingsDocument fp32 = Yaml({{"dtype", "float32"}});
  const v1::SettingsDocument variable = Environment({{"ACCELERATE_MIXED_PRECISION", "bf16"}});
  EXPECT_EQ(Verdict(kSame, {Gpu({fp32})}, {Npu({fp32, variable})}),
            "not_performed: ~dtype_by_variable migrated: ACCELERATE_MIXED_PRECISION, !npu");
  EXPECT_EQ(Verdict(kSame, {Gpu({fp32})}, {Npu({fp32, variable, Script({{"launch.command", "accelerate"}})})}),
            "fail: dtype_by_variable migrated: ACCELERATE_MIXED_PRECISION");
}

TEST(Precision, CastsByHandAreAMechanism) {
  constexpr char kSingle[] = "baseline.mixed-precision.single-mechanism";
  const v1::SettingsDocument casts = Yaml({{"manual_fp16", "True"}, {"loss_scale", "dynamic"}});
  const v1::SettingsDocument rewrite = Environment({{"TF_ENABLE_AUTO_MIXED_PRECISION", "1"}});
  EXPECT_EQ(Verdict(kSingle, {Gpu({casts, rewrite}, "tensorflow")}, {}), "fail: two_mechanisms gpu");
  EXPECT_EQ(Verdict("baseline.mixed-precision.enabled", {Gpu({rewrite}, "tensorflow")}, {}), "pass");
}

TEST(Precision, EnginesKeepWeightsOfTheirOwn) {
  constexpr char kSame[] = "migrated.mixed-precision.same-mechanism";
  const v1::SettingsDocument args = Arguments("hf-training-args-json", {{"bf16", "true"}, {"fp16", "false"}});
  const v1::SettingsDocument engine = Arguments("deepspeed-json", {{"bf16.enabled", "true"}});
  const v1::SettingsDocument sharded = Yaml({{"distributed_type", "FSDP"}, {"mixed_precision", "bf16"}});
  EXPECT_EQ(Verdict(kSame, {Gpu({args, engine})}, {Npu({args, sharded})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kSame, {Gpu({args, engine})}, {Npu({args})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kSame, {Gpu({args, engine})}, {Npu({args, engine})}), "pass");
  EXPECT_EQ(Verdict(kSame, {Gpu({args, sharded})}, {Npu({args, sharded})}), "pass");
}

TEST(Precision, AShortcutOfUnknownTypeIsNoWarning) {
  const v1::SettingsDocument on =
      Yaml({{"torch.backends.cuda.matmul.allow_tf32", "True"}, {"conv_allow_tf32", "True"}});
  const v1::SettingsDocument off = Yaml({{"torch.npu.matmul.allow_hf32", "False"}, {"conv_allow_hf32", "True"}});
  EXPECT_EQ(Verdict("migrated.mixed-precision.matmul-conv", {Gpu({on})}, {Npu({off})}),
            "not_performed: ~shortcut_differs matmul, !gpu, !npu");
}

}  // namespace
}  // namespace paritect
