#include "rules/settings_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

v1::Setting Raw(const std::string& key, const std::string& text) {
  v1::Setting setting;
  setting.set_raw_key(key);
  setting.mutable_value()->set_text(text);
  return setting;
}

std::string Canonical(const std::string& format, const std::string& key, const std::string& text) {
  std::string out;
  for (const CanonicalSetting& one : BuiltInRules().settings.Canonicalise(format, Raw(key, text))) {
    out += one.key->key + "=" + ValueToText(one.value) + ";";
  }
  return out;
}

TEST(SettingsRules, NamesAcrossFrameworksMeetInOne) {
  EXPECT_EQ(Canonical("megatron-args", "lr", "1e-4"), "lr_base=1e-04;");
  EXPECT_EQ(Canonical("deepspeed-json", "optimizer.params.lr", "1.0E-04"), "lr_base=1e-04;");
  EXPECT_EQ(Canonical("mindformers-yaml", "lr_schedule.learning_rate", "0.0001"), "lr_base=1e-04;");
  EXPECT_EQ(Canonical("launch-script", "--Clip-Grad", "1.0"), "clip_grad=1;");
  EXPECT_EQ(Canonical("deepspeed-json", "fp16.initial_scale_power", "16"), "loss_scale_init=65536;");
  EXPECT_EQ(Canonical("x", "initial_loss_scale", "2**32"), "loss_scale_init=4294967296;");
  EXPECT_EQ(Canonical("x", "no_such_thing", "1"), "");
}

// What Python prints of a member of an enumeration or of a type is its last word.
TEST(SettingsRules, PrintedMembersAndTypes) {
  EXPECT_THAT(Canonical("x", "optim", "OptimizerNames.ADAMW_TORCH"), HasSubstr("optimizer=adam;"));
  EXPECT_THAT(Canonical("x", "optim", "<OptimizerNames.ADAMW_TORCH: 'adamw_torch'>"), HasSubstr("optimizer=adam;"));
  EXPECT_THAT(Canonical("x", "optim", "OptimizerNames.NEW_ONE"), HasSubstr("optimizer=new_one;"));
  EXPECT_THAT(Canonical("x", "optim", "my.module.Special"), HasSubstr("optimizer=my.module.special;"));
  EXPECT_THAT(Canonical("x", "optimizer", "torch.optim.AdamW"), HasSubstr("optimizer=adam;"));
  EXPECT_EQ(Canonical("x", "lr_scheduler_type", "SchedulerType.CONSTANT_WITH_WARMUP"), "lr_style=constant;");
  EXPECT_EQ(Canonical("x", "lr_scheduler_type", "SchedulerType.POLYNOMIAL"), "lr_style=polynomial;");
  for (const char* half : {"torch.bfloat16", "mindspore.bfloat16", "BFloat16", "<class 'torch.bfloat16'>",
                           "<dtype: 'bfloat16'>", "bf16-mixed", "mixed_bfloat16", "amp_bf16"})
    EXPECT_EQ(Canonical("x", "compute_dtype", half), "compute_dtype=bfloat16;") << half;
  for (const char* half : {"16", "16-mixed", "16-true", "fp16", "mixed_float16", "amp_fp16", "torch.half"})
    EXPECT_EQ(Canonical("x", "trainer.precision", half), "compute_dtype=float16;") << half;
  EXPECT_EQ(Canonical("x", "lr", "np.float64(0.0001)"), "lr_base=1e-04;");
}

// A word beside numbers: a closed key takes its words and nothing else.
TEST(SettingsRules, ADynamicLossScaleIsNoNumber) {
  EXPECT_THAT(Canonical("apex-options", "loss_scale", "dynamic"), HasSubstr("loss_scale=none;"));
  EXPECT_THAT(Canonical("mmengine-config", "optim_wrapper.loss_scale", "dynamic"),
              HasSubstr("loss_scale_policy=dynamic;"));
  EXPECT_EQ(Canonical("mmengine-config", "optim_wrapper.loss_scale", "128.0"), "loss_scale=128;");
  EXPECT_EQ(Canonical("mmengine-config", "optim_wrapper.type", "AmpOptimWrapper"), "amp_wrapper=amp;");
  EXPECT_EQ(Canonical("mmengine-config", "optim_wrapper.type", "MyWrapper"), "");
}

TEST(SettingsRules, NumbersOfFloat32AreTheSame) {
  const auto same = [](double a, double b) {
    v1::Value x, y;
    x.set_number(a);
    y.set_number(b);
    return SameMeaning(SettingType::kNumber, x, y) && SameMeaning(SettingType::kNumber, y, x);
  };
  EXPECT_TRUE(same(0.0001, 9.999999747378752e-05));
  EXPECT_TRUE(same(0.9, 0.8999999761581421));
  EXPECT_TRUE(same(0.999, 0.9990000128746033));
  EXPECT_TRUE(same(1e-7, 1.0000000116860974e-07));
  EXPECT_TRUE(same(0.9, 0.899999976));  // %.9g
  EXPECT_FALSE(same(0.0001, 0.00010000001));
  EXPECT_FALSE(same(0.9, 0.90000001));
  EXPECT_FALSE(same(0.9, 0.8999));
  EXPECT_FALSE(same(16777217, 16777216));  // whole numbers are exact
  EXPECT_FALSE(same(1e-8, 0));
}

TEST(SettingsRules, ListsByItems) {
  const auto same = [](const std::string& a, const std::string& b) {
    v1::Value x, y;
    x.set_text(a);
    y.set_text(b);
    return SameMeaning(SettingType::kText, x, y);
  };
  EXPECT_TRUE(same("949,50,1", "949, 50, 1"));
  EXPECT_TRUE(same("[0.485, 0.456]", "0.485,0.456"));
  EXPECT_TRUE(same("(949.0, 50, 1)", "949,50,1"));
  EXPECT_FALSE(same("949,50,1", "949,50"));
  EXPECT_FALSE(same("949,50,1", "949,51,1"));
  EXPECT_FALSE(same("a,b", "a,c"));
  EXPECT_TRUE(same("[a,b]", "[a, b]"));
  EXPECT_FALSE(same("Dear User,\n", "Dear User,"));
  v1::Value list, text;
  for (int i : {949, 50, 1}) list.mutable_list()->add_items()->set_integer(i);
  text.set_text("949, 50,1");
  EXPECT_TRUE(SameMeaning(SettingType::kText, list, text));
}

TEST(SettingsRules, OneRawValueMayHoldTwo) {
  v1::Setting setting;
  setting.set_raw_key("optimizer.betas");
  setting.mutable_value()->mutable_list()->add_items()->set_number(0.9);
  setting.mutable_value()->mutable_list()->add_items()->set_number(0.95);
  auto found = BuiltInRules().settings.Canonicalise("mindformers-yaml", setting);
  ASSERT_EQ(found.size(), 2U);
}

// PyTorch 2.9 names the shortcut by word, per backend and operator.
TEST(SettingsRules, ShortcutsByWordAreOnOrOff) {
  const std::string matmul = "torch.backends.cuda.matmul.fp32_precision";
  EXPECT_EQ(Canonical("flags", matmul, "ieee"), "matmul_low_precision=false;");
  EXPECT_EQ(Canonical("flags", matmul, "TF32"), "matmul_low_precision=true;");
  EXPECT_EQ(Canonical("flags", matmul, "bf16"), "matmul_low_precision=true;");
  EXPECT_EQ(Canonical("flags", matmul, "none"), "matmul_low_precision=none;");
  EXPECT_EQ(Canonical("flags", "torch.backends.cuda.matmul.allow_tf32", "True"), "matmul_low_precision=true;");
  EXPECT_EQ(Canonical("flags", "torch.backends.cudnn.conv.fp32_precision", "ieee"), "conv_low_precision=false;");
  EXPECT_EQ(Canonical("flags", "torch.backends.cudnn.rnn.fp32_precision", "tf32"), "rnn_low_precision=true;");
  EXPECT_EQ(Canonical("flags", "torch.set_float32_matmul_precision", "highest"), "matmul_low_precision=false;");
}

TEST(SettingsRules, ATextIsNoNumber) {
  const auto no_number = [](const std::string& key, const std::string& text) {
    return IsNoNumber(BuiltInRules().settings.Canonicalise("yaml", Raw(key, text)).at(0));
  };
  EXPECT_TRUE(no_number("lr", "abc"));
  EXPECT_TRUE(no_number("micro_batch_size", "two"));
  EXPECT_FALSE(no_number("lr", "1e-4"));
  EXPECT_FALSE(no_number("micro_batch_size", "auto"));
  EXPECT_FALSE(no_number("loss_scale", "dynamic"));
  EXPECT_FALSE(no_number("lr_scheduler_type", "cosine"));
}

TEST(SettingsRules, SameMeaningIsSameValue) {
  v1::Value a, b;
  a.set_text("1e-4");
  b.set_number(0.0001);
  EXPECT_TRUE(SameMeaning(SettingType::kNumber, a, b));
  a.set_number(1 - 0.9);
  b.set_number(0.1);
  EXPECT_TRUE(SameMeaning(SettingType::kNumber, a, b));
  b.set_number(0.1001);
  EXPECT_FALSE(SameMeaning(SettingType::kNumber, a, b));
  a.set_text("TRUE");
  b.set_integer(1);
  EXPECT_TRUE(SameMeaning(SettingType::kBoolean, a, b));
  a.set_text("2.1.0+cu121");
  b.set_text("2.1.0");
  EXPECT_TRUE(
      SameMeaning(SettingType::kVersion, TypedValue(SettingType::kVersion, a), TypedValue(SettingType::kVersion, b)));
  a.set_null(true);
  b.set_integer(0);
  EXPECT_FALSE(SameMeaning(SettingType::kNumber, a, b));
}

TEST(SettingsRules, UnknownVariablesAreWithheld) {
  const SettingsRules& rules = BuiltInRules().settings;
  EXPECT_EQ(rules.EffectOf("HCCL_DETERMINISTIC"), VariableEffect::kNumbers);
  EXPECT_EQ(rules.EffectOf("OMP_NUM_THREADS"), VariableEffect::kHarmless);
  EXPECT_EQ(rules.EffectOf("NCCL_SOCKET_IFNAME"), VariableEffect::kByNature);
  EXPECT_FALSE(rules.InClear("WANDB_API_KEY"));
  EXPECT_FALSE(rules.InClear("HF_TOKEN"));
}

// The alias with a value that its key's type and its conversion take.
v1::Setting Stated(const SettingKey& key, const SettingAlias& alias) {
  v1::Setting setting = Raw(alias.name, "0.5");
  if (alias.convert == SettingConversion::kItem0 || alias.convert == SettingConversion::kItem1) {
    for (int i = 0; i < 2; ++i) setting.mutable_value()->mutable_list()->add_items()->set_number(0.5);
  } else if (key.type == SettingType::kBoolean) {
    setting.mutable_value()->set_text("true");
  } else if (key.type == SettingType::kWord && !key.words.empty()) {
    setting.mutable_value()->set_text(key.words.begin()->first);
  }
  return setting;
}

// An alias is one word in the table: this is its test.
TEST(SettingsRules, EveryAliasLeadsToItsKey) {
  const SettingsRules& rules = BuiltInRules().settings;
  for (const auto& [name, key] : rules.keys()) {
    for (const SettingAlias& alias : key.aliases) {
      EXPECT_EQ(alias.name, NormaliseSettingKey(alias.name)) << name << ": this spelling never arrives";
      std::set<std::string> found;
      for (const CanonicalSetting& one : rules.Canonicalise(alias.format, Stated(key, alias))) {
        found.insert(one.key->key);
      }
      EXPECT_TRUE(found.contains(name)) << alias.name << " in '" << alias.format << "'";
    }
  }
}

TEST(SettingsRules, AnOverrideAddsAliasDefaultAndChip) {
  const std::vector<RulesFile> overrides = {
      {"settings.yaml", "keys: [{key: weight_decay, aliases: [my_decay]}]\nvariables: {numbers: [MY_MODE]}\n"},
      {"defaults.yaml", "defaults: [{key: weight_decay, framework: pytorch, value: 0.01, source: ours}]\n"},
      {"products.yaml", "chips: [{name: \"910D7\", family: atlas-a3}]\n"}};
  auto rules = LoadRules(EmbeddedRules(), overrides);
  ASSERT_TRUE(rules.ok()) << rules.status();
  auto found = rules->settings.Canonicalise("x", Raw("my-decay", "0.1"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key->key, "weight_decay");
  EXPECT_TRUE(found[0].key->compared);
  EXPECT_TRUE(rules->settings.InClear("MY_MODE"));
  ASSERT_NE(rules->defaults.Find("weight_decay", "", "pytorch", "", ""), nullptr);
  ASSERT_NE(rules->products.FamilyOfChip("Ascend910D7"), nullptr);
  EXPECT_EQ(rules->products.FamilyOfChip("Ascend910D7")->id, "atlas-a3");
}

TEST(SettingsRules, AKeyKeepsItsMeaningInItsSections) {
  const SettingsRules& rules = BuiltInRules().settings;
  const auto known = [&](const std::string& name, const std::string& value = "0.1") {
    const auto found = rules.Canonicalise("yaml", Raw(name, value));
    return found.empty() ? "" : found[0].key->key;
  };
  for (const char* name :
       {"training.lr", "optim.lr", "gpt_args.lr", "actor_config.lr", "lr_init", "lr0", "SOLVER.BASE_LR", "scheduler.lr",
        "TRAIN.BASE_LR", "model.optim.lr", "train.optimizer.lr", "hyp.lr0"}) {
    EXPECT_EQ(known(name), "lr_base") << name;
  }
  EXPECT_EQ(known("--batch-size", "8"), "batch_size");
  EXPECT_EQ(known("optim.sched.warmup_steps", "8"), "warmup_steps");
  // Of another model or phase, or of another concern than the section's.
  for (const char* name : {"critic.optim.lr", "discriminator.lr", "eval.batch_size", "dataset.lr", "optimizer.seed"}) {
    EXPECT_EQ(known(name), "") << name;
  }
}

TEST(SettingsRules, AnUnreadKeyMayBeTheSameThing) {
  const SettingsRules& rules = BuiltInRules().settings;
  const SettingKey& rate = *rules.FindKey("lr_base");
  for (const char* name : {"a.b.lr", "my_learning_rate", "x.peak_lr", "policy_lr"})
    EXPECT_TRUE(rules.MayBe(name, rate));
  for (const char* name : {"lr_decay_steps", "a.lr_scheduler", "warmup_bias_lr", "color"}) {
    EXPECT_FALSE(rules.MayBe(name, rate)) << name;
  }
}

TEST(SettingsRules, RefusesWithAPosition) {
  auto refused = [](const std::string& text) {
    const std::vector<RulesFile> files = {{"settings.yaml", text}};
    return std::string(LoadRules(EmbeddedRules(), files).status().message());
  };
  EXPECT_THAT(refused("keys: [{key: a, type: colour}]\n"), HasSubstr("unknown type 'colour'"));
  EXPECT_THAT(refused("keys: [{key: a, type: text, aliases: [{b: twice}]}]\n"),
              HasSubstr("unknown conversion 'twice'"));
  EXPECT_THAT(
      refused("keys: [{key: learning_rate, aliases: [b]}]\n"),
      HasSubstr("settings.yaml:1:14: there is no key 'learning_rate': it is a name of 'lr_base'; a new one needs"));
  EXPECT_THAT(refused("keyz: []\n"), HasSubstr("settings.yaml:1:1: unknown key 'keyz'"));
  EXPECT_THAT(refused("sections: [{name: a}]\n"), HasSubstr("`names` and `groups`"));
  EXPECT_THAT(refused("libraries: [{framework: pytorch}]\n"), HasSubstr("needs `name`"));
  EXPECT_THAT(refused("libraries: [{name: a, look: [b]}]\n"), HasSubstr("unknown key 'look'"));
  EXPECT_THAT(refused("variables: {secret: [A]}\n"), HasSubstr("numbers, harmless or by_nature"));
}

TEST(SettingsRules, VariableVersionsAreReplacedByNameAndChecked) {
  SettingsRules rules;
  const auto add = [&](const std::string& text, bool overriding) {
    return rules.Add(*ParseDocument("variable_versions: [" + text + "]"), overriding);
  };
  ASSERT_TRUE(add("{variable: A_VERSION, loaded: [package.a, 'b.*'], parts: 2}", false).ok());
  ASSERT_TRUE(add("{variable: A_VERSION, loaded: [package.c]}, {variable: B_VERSION, loaded: [b]}", true).ok());
  ASSERT_EQ(rules.variable_versions().size(), 2u);
  EXPECT_EQ(rules.variable_versions()[0].loaded, std::vector<std::string>{"package.c"});
  EXPECT_EQ(rules.variable_versions()[0].parts, 0u);
  for (const char* bad : {"{variable: A}", "{loaded: [a]}", "{variable: A, loaded: a}",
                          "{variable: A, loaded: [a], parts: -1}", "{variable: A, loaded: [a], part: 1}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(add(bad, false))) << bad;
  }
}

}  // namespace
}  // namespace paritect
