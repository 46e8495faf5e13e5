// Settings that were once passed although nothing, or not enough, had been looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

constexpr char kValues[] = "model.hyperparameters.values";
constexpr char kBatch[] = "model.hyperparameters.global-batch";
constexpr char kRate[] = "model.hyperparameters.learning-rate";

std::string Pair(absl::string_view check, const v1::SettingsDocument& gpu, const v1::SettingsDocument& npu) {
  return Verdict(check, {Gpu({gpu})}, {Npu({npu})});
}

KeysAndTexts With(KeysAndTexts base, const KeysAndTexts& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

TEST(OverflowRate, ALogWithoutAStepShowsNothing) {
  const auto fp16 = Arguments("apex-options", {{"opt_level", "O1"}});
  for (const char* check : {"migrated.loss-scale.overflow-rate", "migrated.loss-scale.skipped-step"}) {
    EXPECT_EQ(Verdict(check, {}, {WithEmptyLog(Npu({fp16}))}), "not_performed: !npu") << check;
  }
  EXPECT_EQ(Verdict("baseline.mixed-precision.overflow-rate", {WithEmptyLog(Gpu({fp16}))}, {}), "not_performed: !gpu");
}

TEST(HyperparameterValues, NothingComparedIsNoPass) {
  const auto rate = Arguments("launch-script", {{"lr", "1e-4"}});
  EXPECT_EQ(Pair(kValues, rate, rate), "not_performed: !npu");
  const auto steps = Arguments("json", {{"lr", "1e-4"}, {"max_steps", "400"}});
  EXPECT_EQ(Pair(kValues, steps, steps), "pass");
}

TEST(UnreadScripts, NoDefaultCountsBesideThem) {
  const auto fp32 = Arguments("yaml", {{"fp16", "False"}, {"bf16", "False"}});
  const auto torch = PackagesOf({{"package.torch", "2.1.0"}});
  const auto variables = Environment({{"LANG", "C"}});
  const auto npu = [&] { return Npu({fp32, torch, variables}); };
  const char kMode[] = "migrated.mixed-precision.precision-mode";
  EXPECT_EQ(Verdict(kMode, {}, {npu()}), "pass");
  EXPECT_EQ(Verdict(kMode, {}, {WithUnreadScript(npu())}), "not_performed: !npu");
  const auto session = Arguments("session-config", {{"iterations_per_loop", "1"}});  // shows what the script set
  EXPECT_EQ(Verdict(kMode, {}, {WithUnreadScript(Npu({session}, "tensorflow"))}), "pass");
  // What is stated counts.
  EXPECT_EQ(Verdict(kMode, {}, {WithUnreadScript(Npu({Arguments("yaml", {{"precision_mode_v2", "fp16"}})}))}),
            "fail: precision_mode_wrong precision_mode_v2");
  const char kInfNan[] = "migrated.mixed-precision.inf-nan";
  EXPECT_EQ(Verdict(kInfNan, {}, {npu()}), "pass");
  EXPECT_EQ(Verdict(kInfNan, {}, {WithUnreadScript(npu())}), "not_performed: !npu");
  // The training series has no other mode, whatever a script asks for.
  EXPECT_EQ(Verdict(kInfNan, {}, {WithUnreadScript(Npu({fp32, variables}, "pytorch", "atlas-training"))}), "pass");
  const char kMatmul[] = "migrated.mixed-precision.matmul-conv";
  EXPECT_EQ(Verdict(kMatmul, {Gpu({fp32, torch})}, {npu()}), "pass");
  EXPECT_EQ(Verdict(kMatmul, {WithUnreadScript(Gpu({fp32, torch}))}, {npu()}), "not_performed: !gpu, !gpu, !gpu");
  const char kSingle[] = "migrated.mixed-precision.single-mechanism";
  const auto megatron = Npu({Arguments("megatron-args", {{"bf16", "True"}})});
  EXPECT_EQ(Verdict(kSingle, {}, {megatron}), "pass");
  EXPECT_EQ(Verdict(kSingle, {}, {WithUnreadScript(megatron)}), "not_performed: !npu");
}

TEST(LearningRate, TheLengthOfTheDecayCounts) {
  const KeysAndTexts base = {{"lr", "1e-4"}, {"lr_decay_style", "cosine"}, {"train_iters", "100000"}};
  const auto with = [&](const std::string& steps) {
    return Arguments("megatron-args", With(base, {{"lr_decay_iters", steps}}));
  };
  EXPECT_EQ(Pair(kRate, with("None"), with("80000")), "fail: schedule_differs lr_decay_steps");
  EXPECT_EQ(Pair(kRate, with("None"), with("100000")), "pass");
  EXPECT_EQ(Pair(kRate, with("80000"), with("80000")), "pass");
  EXPECT_EQ(Pair(kRate,
                 Arguments("mindformers-yaml", {{"lr_schedule.learning_rate", "1e-4"},
                                                {"lr_schedule.type", "CosineWithWarmUpLR"},
                                                {"lr_schedule.total_steps", "1000"}}),
                 with("2000")),
            "fail: schedule_differs lr_decay_steps");
  // A constant rate has no decay.
  const KeysAndTexts constant = {{"lr", "1e-4"}, {"lr_decay_style", "constant"}, {"train_iters", "100"}};
  EXPECT_EQ(Pair(kRate, Arguments("megatron-args", With(constant, {{"lr_decay_iters", "50"}})),
                 Arguments("megatron-args", constant)),
            "pass");
  // Half the steps of twice the batch.
  EXPECT_EQ(Pair(kRate, Arguments("yaml", {{"lr", "1"}, {"lr_decay_iters", "100"}, {"global_batch_size", "8"}}),
                 Arguments("yaml", {{"lr", "1"}, {"lr_decay_iters", "50"}, {"global_batch_size", "16"}})),
            "pass");
  EXPECT_EQ(Pair(kRate, Arguments("yaml", {{"lr", "1"}, {"lr_decay_iters", "100"}}), Arguments("yaml", {{"lr", "1"}})),
            "not_performed: !npu");
}

TEST(LearningRate, WarmupStepsBeatAnEqualRatio) {
  const auto hf = [](const std::string& steps, const KeysAndTexts& more) {
    return Arguments("hf-training-args-json",
                     With({{"learning_rate", "2e-5"}, {"warmup_ratio", "0.03"}, {"warmup_steps", steps}}, more));
  };
  EXPECT_EQ(Pair(kRate, hf("0", {}), hf("100", {})), "not_performed: !gpu");
  EXPECT_EQ(Pair(kRate, hf("0", {}), hf("0", {})), "pass");
  EXPECT_EQ(Pair(kRate, hf("0", {{"max_steps", "1000"}}), hf("100", {})), "fail: warmup_differs warmup");
}

TEST(LearningRate, MindFormersTakesTheRatioOfItsTotalSteps) {
  const auto mf = [](const std::string& ratio) {
    return Arguments("mindformers-yaml", {{"lr_schedule.learning_rate", "1e-4"},
                                          {"lr_schedule.warmup_ratio", ratio},
                                          {"lr_schedule.total_steps", "2000"}});
  };
  const auto megatron =
      Arguments("megatron-args", {{"lr", "1e-4"}, {"lr_warmup_iters", "100"}, {"train_iters", "2000"}});
  EXPECT_EQ(Pair(kRate, megatron, mf("0.05")), "pass");
  EXPECT_EQ(Pair(kRate, megatron, mf("0.03")), "fail: warmup_differs warmup");
}

TEST(LearningRate, ADeepSpeedSchedulerReplacesTheTrainers) {
  const auto hf = Arguments("hf-training-args-json", {{"learning_rate", "2e-5"}, {"lr_scheduler_type", "cosine"}});
  const auto engine = Arguments("deepspeed-json", {{"scheduler.type", "WarmupLR"}});
  EXPECT_EQ(Verdict(kRate, {Gpu({hf})}, {Npu({hf, engine})}), "fail: schedule_differs lr_style");
  EXPECT_EQ(Verdict(kRate, {Gpu({hf, engine})}, {Npu({hf, engine})}), "pass");
  const auto own = Arguments("deepspeed-json", {{"scheduler.type", "auto"}});
  EXPECT_EQ(Verdict(kRate, {Gpu({hf})}, {Npu({hf, own})}), "pass");
  const auto peak = [](const std::string& rate) {
    return Arguments("deepspeed-json", {{"optimizer.params.lr", "1e-4"}, {"scheduler.params.warmup_max_lr", rate}});
  };
  EXPECT_EQ(Pair(kRate, peak("1e-4"), peak("2e-4")), "fail: learning_rate_differs lr_base");
}

TEST(LearningRate, KeysOfOneStyle) {
  const auto megatron = [](const std::string& style, const std::string& steps) {
    return Arguments("megatron-args", {{"lr", "1"}, {"lr_decay_style", style}, {"lr_wsd_decay_iters", steps}});
  };
  EXPECT_EQ(Pair(kRate, megatron("WSD", "1000"), megatron("WSD", "20000")),
            "fail: schedule_differs lr_wsd_decay_steps");
  EXPECT_EQ(Pair(kRate, megatron("cosine", "1000"), megatron("cosine", "20000")), "pass");
  const auto torchvision = [](const std::string& size) {
    return Arguments("argparse-namespace", {{"lr", "0.1"}, {"lr_scheduler", "steplr"}, {"lr_step_size", size}});
  };
  EXPECT_EQ(Pair(kRate, torchvision("30"), torchvision("10")), "fail: schedule_differs lr_step_size");
  EXPECT_EQ(Pair(kRate, Arguments("argparse-namespace", {{"lr", "1"}, {"sched", "cosine"}}),
                 Arguments("argparse-namespace", {{"lr", "1"}, {"sched", "step"}})),
            "fail: schedule_differs lr_style");
}

TEST(LearningRate, TheEndIsARateOrAShare) {
  const auto hf = [](const std::string& ratio) {
    return Arguments("hf-training-args-json", {{"learning_rate", "1e-4"},
                                               {"lr_scheduler_type", "cosine_with_min_lr"},
                                               {"lr_scheduler_kwargs.min_lr_rate", ratio}});
  };
  const auto megatron = Arguments("megatron-args", {{"lr", "1e-4"}, {"lr_decay_style", "cosine"}, {"min_lr", "1e-5"}});
  EXPECT_EQ(Pair(kRate, megatron, hf("0.1")), "pass");
  EXPECT_EQ(Pair(kRate, hf("0.1"), hf("0.5")), "fail: schedule_differs lr_min");
  EXPECT_EQ(Pair(kRate, megatron,
                 Arguments("hf-training-args", {{"learning_rate", "1e-4"}, {"lr_scheduler_type", "cosine"}})),
            "fail: schedule_differs lr_min");
}

TEST(LearningRate, KeysThatNobodyKnows) {
  const auto yaml = [](const KeysAndTexts& more) { return Arguments("yaml", With({{"lr", "1"}}, more)); };
  EXPECT_EQ(Pair(kRate, yaml({{"param_scheduler.0.end", "2500"}}), yaml({{"param_scheduler.0.end", "500"}})),
            "fail: schedule_differs param_scheduler.0.end");
  EXPECT_EQ(Pair(kRate, yaml({}), yaml({{"lr_scheduler_kwargs.odd", "3"}})), "not_performed: !npu");
  EXPECT_EQ(Pair(kRate, yaml({{"lr_odd", "1"}}), yaml({{"lr_odd", "2"}})), "not_performed: !npu");
  EXPECT_EQ(Pair(kRate, yaml({}), yaml({{"lr_odd", "False"}})), "pass");
  // Another library has other names.
  EXPECT_EQ(Pair(kRate, yaml({}), Arguments("megatron-args", {{"lr", "1"}, {"lr_odd", "2"}})), "pass");
}

TEST(HyperparameterValues, ArgumentsOfOptimizerAndModel) {
  const auto yaml = [](const KeysAndTexts& more) { return Arguments("yaml", With({{"clip_grad", "1"}}, more)); };
  const auto differ = [&](const std::string& key, const std::string& a, const std::string& b) {
    return Pair(kValues, yaml({{key, a}}), yaml({{key, b}}));
  };
  EXPECT_EQ(differ("normalization", "RMSNorm", "LayerNorm"), "fail: value_differs normalization");
  EXPECT_EQ(differ("swiglu", "True", "False"), "fail: value_differs swiglu");
  EXPECT_EQ(differ("lora_rank", "8", "64"), "fail: value_differs lora_rank");
  EXPECT_EQ(differ("finetuning_type", "lora", "full"), "fail: value_differs finetuning_type");
  EXPECT_EQ(differ("optimizer._target_", "torch.optim.AdamW", "torch.optim.SGD"), "fail: value_differs optimizer");
  EXPECT_EQ(differ("actor_rollout_ref.rollout.n", "5", "8"), "fail: value_differs rollout_n");
  EXPECT_EQ(differ("optimizer.params.odd", "1", "2"), "fail: value_differs optimizer.params.odd");
  EXPECT_EQ(differ("optimizer.params.fused", "True", "False"), "pass: ~unknown_key_differs optimizer.params.fused");
  EXPECT_EQ(differ("opt_odd", "1", "2"), "not_performed: ~unknown_key_differs opt_odd, !npu");
  EXPECT_EQ(differ("odd", "1", "2"), "pass: ~unknown_key_differs odd");
}

TEST(HyperparameterValues, WhatOneSideAloneHas) {
  const KeysAndTexts base = {{"clip_grad", "1"}};
  const auto yaml = [&](const KeysAndTexts& more) { return Arguments("yaml", With(base, more)); };
  EXPECT_EQ(Pair(kValues, yaml({}), yaml({{"odd", "5"}})), "pass: ~unknown_key_one_sided migrated: npu");
  EXPECT_EQ(Pair(kValues, yaml({}), yaml({{"odd", "None"}})), "pass");
  EXPECT_EQ(Pair(kValues, yaml({}), yaml({{"neftune_noise_alpha", "5"}})), "fail: value_differs neftune_noise_alpha");
  // Whether another library's file leaves it off or has it otherwise is not known.
  EXPECT_EQ(Pair(kValues, yaml({}), Arguments("megatron-args", With(base, {{"normalization", "RMSNorm"}}))),
            "not_performed: !gpu");
  // Other steps of batches that are not known.
  EXPECT_EQ(Pair(kValues, yaml({{"max_steps", "1000"}}), yaml({{"max_steps", "2000"}})), "not_performed: !gpu, !npu");
  EXPECT_EQ(Pair(kValues, yaml({}), yaml({{"normalization", "RMSNorm"}})), "not_performed: !gpu");
  EXPECT_EQ(Pair(kValues, yaml({{"normalization", "RMSNorm"}}), yaml({})), "not_performed: !npu");
  // None is a value of an option that need not be there.
  EXPECT_EQ(Pair(kValues, yaml({{"num_experts", "None"}}), yaml({{"num_experts", "8"}})),
            "fail: value_differs num_experts");
}

TEST(HyperparameterValues, ClippingThatIsSwitchedOff) {
  const auto megatron = Arguments("megatron-args", {{"clip_grad", "1.0"}});
  const auto mf = [](const std::string& use) {
    return Arguments("mindformers-yaml",
                     {{"runner_wrapper.use_clip_grad", use}, {"runner_wrapper.max_grad_norm", "1.0"}});
  };
  EXPECT_EQ(Pair(kValues, megatron, mf("False")), "fail: value_differs clip_grad");
  EXPECT_EQ(Pair(kValues, megatron, mf("True")), "pass");
}

TEST(GlobalBatchSize, OfMindFormersWithAndWithoutPipeline) {
  const auto mf = [](const std::string& stages, const KeysAndTexts& more) {
    return Arguments("mindformers-yaml", With({{"runner_config.batch_size", "4"},
                                               {"runner_config.gradient_accumulation_steps", "2"},
                                               {"parallel_config.data_parallel", "8"},
                                               {"parallel_config.pipeline_stage", stages},
                                               {"parallel_config.micro_batch_num", "16"}},
                                              more));
  };
  const auto batch = [](const std::string& size) { return Arguments("megatron-args", {{"global_batch_size", size}}); };
  EXPECT_EQ(Pair(kBatch, batch("64"), mf("1", {})), "pass");
  EXPECT_EQ(Pair(kBatch, batch("1024"), mf("1", {})), "fail: global_batch_differs global_batch_size");
  EXPECT_EQ(Pair(kBatch, batch("512"), mf("2", {})), "pass");  // no accumulation in a pipeline
  EXPECT_EQ(Pair(kBatch, batch("128"), mf("1", {{"micro_batch_interleave_num", "2"}})), "pass");
  // Without full_batch every device reads.
  EXPECT_EQ(Pair(kBatch, batch("256"), mf("1", {{"parallel.full_batch", "False"}, {"world_size", "32"}})), "pass");
}

TEST(GlobalBatchSize, OneThatGrows) {
  const auto megatron = [](const std::string& growth) {
    return Arguments("megatron-args", {{"global_batch_size", "256"}, {"rampup_batch_size", growth}});
  };
  EXPECT_EQ(Pair(kBatch, megatron("None"), megatron("[16, 16, 1000000]")),
            "fail: global_batch_differs rampup_batch_size");
  EXPECT_EQ(Pair(kBatch, megatron("None"), Arguments("yaml", {{"global_batch_size", "256"}})), "pass");
}

TEST(ComputeType, TwoSourcesThatDisagree) {
  const auto hf = Arguments("hf-training-args-json", {{"bf16", "true"}, {"fp16", "false"}});
  const auto plain = Arguments("deepspeed-json", {{"bf16.enabled", "auto"}, {"fp16.enabled", "auto"}});
  const auto torn = Arguments("deepspeed-json", {{"bf16.enabled", "false"}, {"fp16.enabled", "true"}});
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({hf, plain})}), "pass");
  EXPECT_EQ(Verdict("migrated.mixed-precision.enabled", {}, {Npu({hf, torn})}),
            "fail: conflict_within_side migrated: bf16, conflict_within_side migrated: fp16");
  const v1::CheckResult scaler = ResultOf("migrated.loss-scale.enabled", {}, {Npu({hf, torn})});
  EXPECT_NE(scaler.verdict(), v1::VERDICT_PASS) << Told(scaler);
}

TEST(SameMechanism, WeightsInTheShortTypeAreAnotherWay) {
  const char kCheck[] = "migrated.mixed-precision.same-mechanism";
  const auto factory = [](const KeysAndTexts& more) {
    return Arguments("llamafactory-yaml", With({{"bf16", "true"}}, more));
  };
  EXPECT_EQ(Pair(kCheck, factory({}), factory({{"pure_bf16", "true"}})), "fail: mechanism_differs mechanism");
  EXPECT_EQ(Pair(kCheck, factory({{"pure_bf16", "true"}}), factory({{"pure_bf16", "true"}})), "pass");
  const auto apex = [](const std::string& level) {
    return Arguments("hf-training-args-json",
                     {{"fp16", "true"}, {"half_precision_backend", "apex"}, {"fp16_opt_level", level}});
  };
  EXPECT_EQ(Pair(kCheck, apex("O1"), apex("O2")), "fail: mechanism_differs mechanism");
  EXPECT_EQ(Pair(kCheck, apex("O1"), apex("O1")), "pass");
}

TEST(LossScaleOptimizer, DistributedOnEveryProduct) {
  const char kCheck[] = "migrated.loss-scale.optimizer";
  const auto judge = [&](const KeysAndTexts& options, const std::string& product) {
    return Verdict(kCheck, {},
                   {Npu({Arguments("python-options", With(options, {{"world_size", "8"}}))}, "tensorflow", product)});
  };
  const KeysAndTexts npu = {{"loss_scale_optimizer", "NPULossScaleOptimizer"}};
  for (const std::string product : {"atlas-a2", "atlas-training"}) {
    EXPECT_EQ(judge(With(npu, {{"is_distributed", "False"}}), product), "fail: is_distributed_mismatch npu");
    EXPECT_EQ(judge(npu, product), "not_performed: !npu");
    EXPECT_EQ(judge(With(npu, {{"is_distributed", "True"}}), product), "pass");
  }
  EXPECT_EQ(judge({}, "atlas-a2"), "pass");  // needs none of its own
}

TEST(LossScale, AScalarOfMindFormers) {
  const auto mf = [](const std::string& scale) {
    return Npu({Arguments("mindformers-yaml",
                          {{"model.model_config.compute_dtype", "float16"}, {"runner_wrapper.scale_sense", scale}})},
               "mindspore");
  };
  EXPECT_EQ(Verdict("migrated.loss-scale.enabled", {}, {mf("1.0")}), "fail: loss_scale_off npu");
  EXPECT_EQ(Verdict("migrated.loss-scale.enabled", {}, {mf("1024")}), "pass");
}

v1::SettingsDocument Dropouts(const std::vector<std::pair<std::string, std::string>>& layers) {
  v1::SettingsDocument document = SettingsOf("model", "model", {});
  for (const auto& [name, rate] : layers) {
    *document.add_settings() = SettingsOf("model", "model", {{"dropout.p", rate}}).settings(0);
    document.mutable_settings()->rbegin()->set_scope(name);
  }
  return document;
}

TEST(NetworkDefinition, EveryDropoutInItsPlace) {
  const auto judge = [](const std::vector<std::pair<std::string, std::string>>& a,
                        const std::vector<std::pair<std::string, std::string>>& b) {
    return Verdict("network.definition.dropout", {Gpu({Dropouts(a)})}, {Npu({Dropouts(b)}, "mindspore")});
  };
  EXPECT_EQ(judge({{"d1", "0.1"}, {"d2", "0.5"}}, {{"d1", "0.1"}, {"d2", "0.5"}}), "pass");
  EXPECT_EQ(judge({{"d1", "0.1"}, {"d2", "0.5"}}, {{"d1", "0.5"}, {"d2", "0.1"}}),
            "fail: convention_differs dropout_p, convention_differs dropout_p");
  EXPECT_EQ(judge({{"d1", "0.1"}, {"d2", "0.5"}}, {{"d2", "0.5"}, {"d1", "0.1"}}), "pass");  // named otherwise in order
  EXPECT_EQ(judge({{"a", "0.1"}, {"b", "0.5"}}, {{"x", "0.1"}, {"y", "0.5"}}), "pass");
  EXPECT_EQ(judge({{"a", "0.1"}, {"b", "0.5"}}, {{"x", "0.5"}, {"y", "0.1"}}), "not_performed: !npu");
  EXPECT_EQ(judge({{"a", "0.1"}, {"b", "0.1"}}, {{"x", "0.1"}}), "pass");  // one value everywhere
  EXPECT_EQ(judge({{"a", "0.1"}}, {{"a", "0.1"}, {"z", "0"}}), "pass");    // drops nothing
}

}  // namespace
}  // namespace paritect
