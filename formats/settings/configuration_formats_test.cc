// Configurations of frameworks: references, defaults lists, flags, options in Python source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

// "format: key=value; ... !note"; "~" before a value that the environment may replace.
std::string Read(absl::string_view text, absl::string_view kind = "") {
  const auto documents = ReadSettings(text, "f", kind);
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", one.is_default() ? "~" : "",
                    one.has_value() ? ValueToText(one.value()) : "?", ";");
  }
  for (const v1::Note& note : (*documents)[0].notes()) absl::StrAppend(&out, " !", note.kind());
  return out;
}

TEST(References, ValuesTextsAndMaps) {
  EXPECT_EQ(Read("a: {lr: 0.1, n: 2}\nb: ${a.lr}\nc: run_${a.n}\nd: ${b}\ne:\n  x: 3\n  y: ${.x}\nf: ${a}\n"),
            "yaml: a.lr=0.1; a.n=2; b=0.1; c=run_2; d=0.1; e.x=3; e.y=3; f=none; f.lr=0.1; f.n=2;");
}

TEST(References, TheEnvironmentAndOtherResolvers) {
  EXPECT_EQ(
      Read(
          "lr: ${oc.env:LR,0.1}\nn: ${oc.env:N}\nt: ${now:%Y}\nk: ${oc.decode:3}\ns: ${oc.select:a.b,7}\nx: ${gone}\n"),
      "yaml: lr=~0.1; n=?; t=?; k=3; s=7; x=?; !unresolved_reference !unresolved_reference !unresolved_reference");
}

TEST(References, LoopsAndGrowthEnd) {
  EXPECT_THAT(Read("a: ${b}\nb: ${a}\nc: x${c}\n"), HasSubstr("a=?; b=?; c=?;"));
  std::string growing = "v0: xxxxxxxxxxxxxxxx\n";
  for (int i = 1; i < 40; ++i) absl::StrAppend(&growing, "v", i, ": ${v", i - 1, "}${v", i - 1, "}\n");
  EXPECT_LT(Read(growing).size(), std::size_t{40} << 17);
}

TEST(Hydra, DefaultsListsAndOverrides) {
  EXPECT_EQ(Read("defaults:\n  - model: a\n_target_: x.Y\nlr: 0.1\n"),
            "hydra: defaults.0.model=a; _target_=x.Y; lr=0.1; !defaults_list");
  EXPECT_EQ(Read("- optim.lr=0.1\n- +trainer.devices=8\n"), "hydra: optim.lr=0.1; trainer.devices=8;");
  EXPECT_EQ(Read("_base_: x.yaml\nlr: 0.1\n"), "yaml: _base_=x.yaml; lr=0.1; !base_config");
}

TEST(Verl, ThePrintedConfiguration) {
  EXPECT_EQ(
      Read("(TaskRunner pid=12) {'actor_rollout_ref': {'actor': {'optim': {'lr': 1e-06,\n"
           "(TaskRunner pid=12)                                            'name': None}}},\n"
           "(TaskRunner pid=12)  'data': {'shuffle': True}}\n(TaskRunner pid=12) step 1\n"),
      "hydra: actor_rollout_ref.actor.optim.lr=1e-06; actor_rollout_ref.actor.optim.name=none; data.shuffle=true;");
}

TEST(Keys, StayWhole) {
  EXPECT_EQ(Read("a: {lr: 0.1}\nb: {lr: 0.2}\n"), "yaml: a.lr=0.1; b.lr=0.2;");
  EXPECT_EQ(Read(R"({"x": {"dropout": NaN}, "dropout": -Infinity})"), "json: x.dropout=nan; dropout=-inf;");
}

TEST(Flags, OneALine) {
  EXPECT_EQ(Read("# run\n--learning_rate=0.1\n--use_fp16\n--batch_size 32 \\\n-x=1\n--noshuffle\n"),
            "flags: learning_rate=0.1; use_fp16=true; batch_size=32; x=1; noshuffle=true; !perhaps_negated");
  EXPECT_EQ(Read("torch.backends.cuda.matmul.allow_tf32 = False\ntorch.get_float32_matmul_precision(): high\n"),
            "flags: torch.backends.cuda.matmul.allow_tf32=false; torch.get_float32_matmul_precision=high;");
  EXPECT_EQ(Read("--a=1\n", "flags"), "flags: a=1;");
}

TEST(PythonOptions, OfTheTfAdapter) {
  EXPECT_EQ(
      Read("import tensorflow as tf\ncustom_op.parameter_map[\"precision_mode\"].s = "
           "tf.compat.as_bytes(\"force_fp16\")  # x\n"
           "custom_op.parameter_map['use_off_line'].b = True\n"
           "config = NPURunConfig(precision_mode_v2=\"origin\",\n    iterations_per_loop=10, session_config=cfg)\n"
           "npu.global_options().deterministic = 1\n"
           "lsm = ExponentialUpdateLossScaleManager(init_loss_scale=2**32, decr_ratio=0.5)\n"
           "opt = NPULossScaleOptimizer(opt, lsm, is_distributed=True)\n"),
      "session-config: precision_mode=force_fp16; use_off_line=true; precision_mode_v2=origin; iterations_per_loop=10; "
      "session_config=?; deterministic=1; init_loss_scale=2**32; decr_ratio=0.5; "
      "loss_scale_optimizer=NPULossScaleOptimizer; is_distributed=true; !no_literal !read_from_source");
}

TEST(PythonOptions, OfTorch) {
  EXPECT_EQ(
      Read("import torch\nimport torch_npu\ntorch.backends.cudnn.allow_tf32 = False\ntorch.npu.matmul.allow_hf32 = "
           "flag\n"
           "torch.set_float32_matmul_precision(\"high\")\n"
           "torch.npu.set_option({\"ACL_PRECISION_MODE\": \"must_keep_origin_dtype\"})\nif torch.a == True: pass\n"),
      "flags: torch.backends.cudnn.allow_tf32=false; torch.npu.matmul.allow_hf32=?; "
      "torch.set_float32_matmul_precision=high; "
      "ACL_PRECISION_MODE=must_keep_origin_dtype; !no_literal !read_from_source");
}

TEST(ConfigurationFormats, HostileTextIsAnswered) {
  for (const char* text :
       {"a: ${", "a: ${}", "a: ${${${", "a: ${.....b}", "a: ${oc.env:}", "--", "-=", "import x\nNPURunConfig(",
        "import x\nparameter_map[\"", "import x\nparameter_map[\"].s=1", "import torch\nset_option({",
        "{'actor_rollout_ref': {", "{'actor_rollout_ref': [}", "NPURunConfig(a=(((\nimport "}) {
    for (const SettingsFormat* format : AllSettingsFormats()) {
      (void)format->sniff(text);
      (void)format->parse(text, "f");
    }
    (void)ReadSettings(text, "f", "");
  }
}

}  // namespace
}  // namespace paritect
