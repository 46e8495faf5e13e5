// model.hyperparameters.values, .global-batch and .learning-rate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr char kValues[] = "model.hyperparameters.values";
constexpr char kBatch[] = "model.hyperparameters.global-batch";
constexpr char kRate[] = "model.hyperparameters.learning-rate";

v1::Bundle RunWith(const std::string& name, const KeysAndTexts& values) {
  return NodeOf(name, "node-1", "", "pytorch", {Arguments("yaml", values)});
}

std::string Values(const v1::SettingsDocument& baseline, const v1::SettingsDocument& migrated) {
  return Verdict(kValues, {Gpu({baseline}, "")}, {Npu({migrated}, "")});
}

TEST(HyperparameterValues, SameMeaningPassesOtherValueFails) {
  EXPECT_EQ(Values(Arguments("megatron-args", {{"adam_eps", "1e-08"}, {"clip_grad", "1.0"}}),
                   Arguments("deepspeed-json", {{"optimizer.params.eps", "1.E-8"}, {"gradient_clipping", "1"}})),
            "pass");
  EXPECT_EQ(Values(Arguments("megatron-args", {{"adam_eps", "1e-08"}}), Arguments("yaml", {{"adam_eps", "1e-6"}})),
            "fail: value_differs adam_eps");
  EXPECT_EQ(Values(Arguments("yaml", {{"adam_eps", "1e-08"}}), Arguments("yaml", {{"hidden_size", "8"}})),
            "not_performed: !npu");
  EXPECT_EQ(Verdict(kValues, {WithUnreadable(Gpu({Arguments("yaml", {{"adam_eps", "1"}})}))},
                    {Npu({Arguments("yaml", {{"adam_eps", "1"}})})}),
            "not_performed: !gpu-1");
  EXPECT_EQ(Verdict(kValues, {Gpu({Arguments("yaml", {{"adam_eps", "1"}})})}, {}), "not_performed: !migrated");
}

TEST(HyperparameterValues, WhatOnlyOneSideStatesIsNotCompared) {
  EXPECT_EQ(Values(Arguments("yaml", {{"adam_eps", "1e-08"}, {"clip_grad", "0.3"}}),
                   Arguments("yaml", {{"adam_eps", "1e-08"}})),
            "not_performed: !npu");
}

TEST(HyperparameterValues, TrainingLengthIsComparedInSamples) {
  const auto run = [](const std::string& steps, const std::string& batch) {
    return Arguments("yaml", {{"adam_eps", "1e-08"}, {"train_iters", steps}, {"global_batch_size", batch}});
  };
  EXPECT_EQ(Values(run("100", "64"), run("200", "64")), "fail: value_differs training length");
  EXPECT_EQ(Values(run("100", "64"), run("50", "128")), "pass");
  EXPECT_EQ(Values(Arguments("yaml", {{"adam_eps", "1e-08"}, {"epochs", "3"}}),
                   Arguments("yaml", {{"adam_eps", "1e-08"}, {"epochs", "1"}})),
            "fail: value_differs train_epochs");
}

TEST(HyperparameterValues, TwoSourcesOfOneSideThatDisagree) {
  const v1::CheckResult result =
      ResultOf(kValues, {Gpu({Arguments("yaml", {{"clip_grad", "1"}}), Arguments("json", {{"clip_grad", "5"}})})},
               {Npu({Arguments("yaml", {{"clip_grad", "1"}})})});
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_ERROR, "conflict_within_side")) << Told(result);
}

TEST(HyperparameterValues, SeedsThatTheBaselineVaries) {
  const auto migrated = [](const std::string& seed) { return RunWith("npu", {{"seed", seed}}); };
  const std::vector<v1::Bundle> varied = {RunWith("a", {{"seed", "1"}}), RunWith("b", {{"seed", "2"}})};
  const std::vector<v1::Bundle> common = {RunWith("a", {{"seed", "1"}}), RunWith("b", {{"seed", "1"}})};
  const v1::CheckResult noted = ResultOf(kValues, varied, {migrated("7")});
  EXPECT_EQ(Told(noted), "pass");
  EXPECT_TRUE(HasKind(noted, v1::SEVERITY_NOTE, "value_differs"));
  EXPECT_EQ(Verdict(kValues, common, {migrated("7")}), "fail: value_differs seed");
  EXPECT_EQ(Verdict(kValues, {RunWith("a", {{"seed", "1"}})}, {migrated("7")}), "fail: value_differs seed");
  EXPECT_EQ(Verdict(kValues, common, {migrated("1")}), "pass");
  // Another hyperparameter is not excused.
  EXPECT_EQ(Verdict(kValues, {RunWith("a", {{"clip_grad", "1"}}), RunWith("b", {{"clip_grad", "2"}})},
                    {RunWith("npu", {{"clip_grad", "3"}})}),
            "fail: value_differs clip_grad");
}

TEST(HyperparameterValues, AdamInTwoForms) {
  const auto hf = [](const std::string& decay) {
    return Arguments("hf-training-args-json", {{"optim", "adamw_torch"}, {"weight_decay", decay}});
  };
  const auto megatron = Arguments("megatron-args", {{"optimizer", "adam"}, {"weight_decay", "0.1"}});
  const auto deepspeed = [](KeysAndTexts more) {
    more.insert(more.end(), {{"optimizer.type", "Adam"}, {"optimizer.params.weight_decay", "0.1"}});
    return Arguments("deepspeed-json", more);
  };
  const auto mindformers = [](const std::string& type, const std::string& decay) {
    return Arguments("mindformers-yaml", {{"optimizer.type", type}, {"optimizer.weight_decay", decay}});
  };
  EXPECT_EQ(Values(hf("0.1"), megatron), "pass");
  // What a library's "adam" is counts where the run is known to use it; a file that looks so does not show it.
  EXPECT_EQ(Verdict(kValues, {Gpu({megatron})}, {Npu({deepspeed({})})}), "pass");
  EXPECT_EQ(Values(megatron, deepspeed({})), "not_performed: !npu");
  EXPECT_EQ(Values(megatron, deepspeed({{"optimizer.params.adam_w_mode", "true"}})), "pass");
  EXPECT_EQ(Values(megatron, deepspeed({{"optimizer.params.adam_w_mode", "false"}})),
            "fail: value_differs weight_decay_form");
  EXPECT_EQ(Values(megatron, mindformers("AdamW", "0.1")), "pass");
  EXPECT_EQ(Verdict(kValues, {Gpu({megatron})}, {Npu({mindformers("Adam", "0.1")}, "mindspore")}),
            "fail: value_differs weight_decay_form");
  EXPECT_EQ(Values(hf("0"), mindformers("Adam", "0")), "pass");  // without decay they are one
  // A script's own "adam" may be either.
  const auto script = Arguments("argparse-namespace", {{"optimizer", "adam"}, {"weight_decay", "0.1"}});
  EXPECT_EQ(Values(script, hf("0.1")), "not_performed: !gpu");
  EXPECT_EQ(Values(script, script), "pass");
}

TEST(HyperparameterValues, TheFirstFinishedRunIsTheReference) {
  const auto broken = WithEnd(RunWith("broken", {{"clip_grad", "5"}}), v1::RunEnd::STATE_ABORTED);
  const auto whole = WithEnd(RunWith("whole", {{"clip_grad", "1"}}), v1::RunEnd::STATE_FINISHED);
  const auto npu = WithEnd(RunWith("npu", {{"clip_grad", "1"}}), v1::RunEnd::STATE_FINISHED);
  EXPECT_EQ(Verdict(kValues, {broken, whole}, {npu}), "pass");
  EXPECT_EQ(Verdict(kValues, {whole, broken}, {npu}), "pass");
  EXPECT_EQ(Verdict(kValues, {broken}, {npu}), "fail: value_differs clip_grad");  // nothing better is there
  // A migrated run that broke off beside a finished one does not count.
  EXPECT_EQ(Verdict(kValues, {whole}, {broken, npu}), "pass");
}

TEST(HyperparameterValues, EveryMigratedRunIsCompared) {
  const auto gpu = RunWith("gpu", {{"clip_grad", "1"}});
  EXPECT_EQ(Verdict(kValues, {gpu}, {RunWith("a", {{"clip_grad", "1"}}), RunWith("b", {{"clip_grad", "2"}})}),
            "fail: value_differs clip_grad");
  EXPECT_EQ(Verdict(kValues, {gpu}, {RunWith("a", {{"clip_grad", "1"}}), NodeOf("b", "n", "", "", {})}),
            "not_performed: !b");
}

TEST(GlobalBatchSize, IsAProduct) {
  const KeysAndTexts eight = {{"micro_batch_size", "4"}, {"gradient_accumulation_steps", "8"}, {"world_size", "8"}};
  const KeysAndTexts sixteen = {{"micro_batch_size", "4"}, {"gradient_accumulation_steps", "4"}, {"world_size", "16"}};
  const KeysAndTexts wrong = {{"micro_batch_size", "4"}, {"gradient_accumulation_steps", "8"}, {"world_size", "16"}};
  EXPECT_EQ(Verdict(kBatch, {RunWith("gpu", eight)}, {RunWith("npu", sixteen)}), "pass");
  const v1::CheckResult result = ResultOf(kBatch, {RunWith("gpu", eight)}, {RunWith("npu", wrong)});
  EXPECT_EQ(Told(result), "fail: global_batch_differs global_batch_size");
  EXPECT_EQ(result.findings(0).facts().fields().at("ratio").number_value(), 2);
  // Data-parallel size, not device count.
  KeysAndTexts tensor_parallel = wrong;
  tensor_parallel.emplace_back("tensor_model_parallel_size", "2");
  EXPECT_EQ(Verdict(kBatch, {RunWith("gpu", eight)}, {RunWith("npu", tensor_parallel)}), "pass");
  EXPECT_EQ(Verdict(kBatch, {RunWith("gpu", eight)}, {RunWith("npu", {{"micro_batch_size", "4"}})}),
            "not_performed: !npu");
  EXPECT_EQ(Verdict(kBatch, {RunWith("gpu", eight)}, {RunWith("npu", {{"global_batch_size", "256"}})}), "pass");
}

TEST(GlobalBatchSize, AStatedValueThatTheProductContradicts) {
  const KeysAndTexts right = {{"global_batch_size", "256"}};
  const KeysAndTexts torn = {{"global_batch_size", "256"},
                             {"micro_batch_size", "4"},
                             {"gradient_accumulation_steps", "1"},
                             {"world_size", "8"}};
  EXPECT_EQ(Verdict(kBatch, {RunWith("gpu", right)}, {RunWith("npu", torn)}),
            "fail: conflict_within_side migrated: global_batch_size");
}

TEST(LearningRate, BaseScheduleAndWarmup) {
  const KeysAndTexts gpu = {{"lr", "1e-4"}, {"lr_decay_style", "cosine"}, {"min_lr", "1e-5"}, {"warmup_steps", "100"}};
  const auto with = [&](int place, const std::string& text) {
    KeysAndTexts changed = gpu;
    changed[place].second = text;
    return Verdict(kRate, {RunWith("gpu", gpu)}, {RunWith("npu", changed)});
  };
  EXPECT_EQ(with(0, "0.0001"), "pass");
  EXPECT_EQ(with(0, "2e-4"), "fail: learning_rate_differs lr_base");
  EXPECT_EQ(with(1, "linear"), "fail: schedule_differs lr_style");
  EXPECT_EQ(with(2, "0"), "fail: schedule_differs lr_min");
  EXPECT_EQ(with(3, "101"), "pass");  // rounded up here, down there
  EXPECT_EQ(with(3, "200"), "fail: warmup_differs warmup");
  EXPECT_EQ(Verdict(kRate, {RunWith("gpu", gpu)}, {RunWith("npu", {{"lr_decay_style", "cosine"}})}),
            "not_performed: !npu, !npu, !npu");
}

TEST(LearningRate, WarmupInStepsWhateverItsUnit) {
  const KeysAndTexts steps = {{"lr", "1e-4"}, {"warmup_steps", "30"}};
  const KeysAndTexts ratio = {{"lr", "1e-4"}, {"warmup_ratio", "0.03"}, {"max_steps", "1000"}};
  const KeysAndTexts blind = {{"lr", "1e-4"}, {"warmup_ratio", "0.03"}};
  EXPECT_EQ(Verdict(kRate, {RunWith("gpu", steps)}, {RunWith("npu", ratio)}), "pass");
  EXPECT_EQ(Verdict(kRate, {RunWith("gpu", steps)}, {RunWith("npu", blind)}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kRate, {RunWith("gpu", blind)}, {RunWith("npu", blind)}), "pass");
}

TEST(LearningRate, WarmupByTheLengthThatALogPrints) {
  const KeysAndTexts steps = {{"lr", "1e-4"}, {"warmup_steps", "30"}};
  const auto told = [&](const std::string& format, std::int64_t total) {
    v1::Bundle npu = RunWith("npu", {{"lr", "1e-4"}, {"warmup_ratio", "0.03"}});
    v1::Evidence& evidence = *npu.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source("worker_0.log");
    evidence.mutable_run_log()->set_format(format);
    evidence.mutable_run_log()->mutable_end()->set_total_steps(total);
    return Verdict(kRate, {RunWith("gpu", steps)}, {npu});
  };
  EXPECT_EQ(told("mindformers", 1000), "pass");
  EXPECT_EQ(told("mindformers", 2000), "fail: warmup_differs warmup");
  EXPECT_EQ(told("text", 1000), "not_performed: !npu");  // the total may be that of an epoch
}

TEST(LearningRate, WhatOneSideAloneStatesIsAskedOfTheOther) {
  const auto asked = [](const std::string& format) {
    const v1::CheckResult result =
        ResultOf(kValues, {RunWith("gpu", {{"clip_grad", "1"}, {"init_method_std", "0.02"}})},
                 {Npu({Arguments(format, {{"clip_grad", "1"}})})});
    return result.missing_size() == 1 ? result.missing(0).from() + ": " + result.missing(0).how().en() : "";
  };
  EXPECT_THAT(asked("yaml"), testing::AllOf(testing::StartsWith("npu: "), testing::HasSubstr("full configuration")));
  // All of it was read: asking for it again would lead nowhere.
  EXPECT_THAT(asked("argparse-namespace"), testing::AllOf(testing::StartsWith("npu: "), testing::HasSubstr("facts:")));
}

TEST(LearningRate, ScalingWithTheBatchIsTold) {
  const v1::CheckResult result =
      ResultOf(kRate, {RunWith("gpu", {{"lr", "1e-4"}, {"global_batch_size", "256"}, {"warmup_steps", "0"}})},
               {RunWith("npu", {{"lr", "2e-4"}, {"global_batch_size", "512"}, {"warmup_steps", "0"}})});
  EXPECT_EQ(Told(result), "fail: learning_rate_differs lr_base");
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_NOTE, "linear_scaling"));
}

// One group a weight decay, with its number of parameters.
v1::SettingsDocument GroupsWith(const std::vector<std::pair<std::string, std::string>>& decay_and_count) {
  v1::SettingsDocument document = SettingsOf("parameter-groups", "parameter-groups", {});
  int group = 0;
  for (const auto& [decay, count] : decay_and_count) {
    const v1::SettingsDocument one = SettingsOf("x", "x", {{"group.weight_decay", decay}, {"group.params", count}});
    for (const v1::Setting& setting : one.settings()) {
      v1::Setting& added = *document.add_settings();
      added = setting;
      added.set_scope(absl::StrCat("group ", group));
      if (added.value().text().empty()) document.mutable_settings()->RemoveLast();
    }
    ++group;
  }
  return document;
}

TEST(ParameterGroups, ByWeightDecay) {
  const auto judge = [](const v1::SettingsDocument& baseline, const v1::SettingsDocument& migrated) {
    return Verdict("model.hyperparameters.per-group", {Gpu({baseline})}, {Npu({migrated})});
  };
  const auto usual = GroupsWith({{"0.1", "50"}, {"0", "98"}});
  EXPECT_EQ(judge(usual, usual), "pass");
  EXPECT_EQ(judge(usual, GroupsWith({{"0.0", "90"}, {"0.1", "50"}, {"0", "8"}})), "pass");  // divided otherwise
  EXPECT_EQ(judge(usual, GroupsWith({{"0.1", "148"}})), "fail: groups_differ parameter groups");
  EXPECT_EQ(judge(usual, GroupsWith({{"0.01", "50"}, {"0", "98"}})), "fail: groups_differ parameter groups");
  EXPECT_EQ(judge(usual, GroupsWith({{"0.1", ""}, {"0", ""}})), "not_performed: !npu");
  EXPECT_EQ(judge(usual, Arguments("yaml", {{"lr", "1"}})), "not_performed: !npu");
}

}  // namespace
}  // namespace paritect
