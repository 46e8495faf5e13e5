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

// What an expression gives is not known; a name that the file gives one literal is that literal.
TEST(PythonOptions, OfVariables) {
  const std::string start = "import tensorflow as tf\n";
  const auto mode = [&](const std::string& text) { return Read(start + text); };
  const std::string known = "session-config: precision_mode=force_fp16; !read_from_source";
  const std::string unknown = "session-config: precision_mode=?; !no_literal !read_from_source";
  const std::string set = "op.parameter_map[\"precision_mode\"].s = tf.compat.as_bytes(";
  EXPECT_EQ(mode("MODE = \"force_fp16\"\n" + set + "MODE)\n"), known);
  EXPECT_EQ(mode("MODE = 'force_fp16'\n" + set + "MODE)\n"), known);
  EXPECT_EQ(mode("KEY = 'precision_mode'\nop.parameter_map[KEY].s = b'force_fp16'\n"), known);
  EXPECT_EQ(mode("c = NPURunConfig(**{'precision_mode': 'force_fp16'})\n"), known);
  EXPECT_EQ(mode("O = dict(precision_mode='force_fp16')\nc = NPURunConfig(**dict(precision_mode='force_fp16'))\n"),
            known);
  for (const char* open : {"args.mode)\n", "FLAGS.precision_mode)\n", "os.environ['M'])\n", "'a' if x else 'b')\n",
                           "'force_' + T)\n", "f'{M}')\n", "get())\n"}) {
    EXPECT_EQ(mode(set + open), unknown) << open;
  }
  EXPECT_EQ(mode("MODE = 'a'\nMODE = 'b'\n" + set + "MODE)\n"), unknown);
  EXPECT_EQ(mode("def f(MODE):\n  " + set + "MODE)\n"), unknown);
  EXPECT_EQ(mode("c = NPURunConfig(precision_mode=FLAGS.precision_mode)\n"), unknown);
  const std::string both =
      "session-config: precision_mode=?; precision_mode_v2=?; !no_literal !no_literal !read_from_source";
  EXPECT_EQ(mode("c = NPURunConfig(**options)\n"), both);
  EXPECT_EQ(mode("op.parameter_map[name].s = b'x'\n"), both);
  EXPECT_EQ(mode("o = npu.global_options()\no.precision_mode = 'force_fp16'\n"), known);
  EXPECT_EQ(mode("setattr(npu.global_options(), 'precision_mode', 'force_fp16')\n"), known);
}

TEST(PythonOptions, UnderConditions) {
  const std::string start = "import npu_device as npu\n";
  const auto mode = [&](const std::string& text) { return Read(start + text); };
  const std::string set = "npu.global_options().precision_mode = ";
  EXPECT_EQ(mode("if FLAGS.amp:\n  " + set + "'a'\n"),
            "session-config: precision_mode=?; !conditional !read_from_source");
  EXPECT_EQ(mode("if FLAGS.amp:\n  " + set + "'a'\nelse:\n  " + set + "'b'\n"),
            "session-config: precision_mode=?; precision_mode=?; !conditional !conditional !read_from_source");
  EXPECT_EQ(mode("if FLAGS.amp:\n  " + set + "'a'\nelse:\n  " + set + "'a'\n"),
            "session-config: precision_mode=a; precision_mode=a; !read_from_source");
  EXPECT_EQ(mode(set + "'a'\nif FLAGS.amp:\n  " + set + "'b'\n"),
            "session-config: precision_mode=?; precision_mode=?; !conditional !conditional !read_from_source");
  EXPECT_EQ(mode("if False:\n  " + set + "'a'\n" + set + "'b'\n"),
            "session-config: precision_mode=b; !read_from_source");
  EXPECT_EQ(
      mode("\"\"\"Usage:\n" + set + "'a'\n\"\"\"\n'" + "npu.global_options().precision_mode = 1'\n" + set + "'b'\n"),
      "session-config: precision_mode=b; !read_from_source");
}

// What stands in quotes is no code, whatever it looks like.
TEST(PythonOptions, TextsAreNoCode) {
  const std::string set = "npu.global_options().precision_mode = 'b'\n";
  const std::string only = "session-config: precision_mode=b; !read_from_source";
  for (const char* text :
       {"'npu.global_options().precision_mode = 1'\n", "print(\"NPURunConfig(precision_mode='a')\")\n",
        "print('npu.global_options().precision_mode = x')\n", "help = \"os.environ['A'] = '1'\"\n"}) {
    EXPECT_EQ(Read("import npu_device as npu\n" + std::string(text) + set), only) << text;
  }
}

TEST(PythonOptions, LossScalers) {
  const std::string start = "import tensorflow as tf\n";
  EXPECT_EQ(Read(start + "m = FixedLossScaleManager(1024, False)\no = NPULossScaleOptimizer(opt, m)\n"),
            "session-config: loss_scale=1024; enable_overflow_check=false; loss_scale_optimizer=NPULossScaleOptimizer; "
            "is_distributed=false; !read_from_source");
  EXPECT_EQ(Read(start + "o = NPULossScaleOptimizer(opt, m, True)\n"),
            "session-config: loss_scale_optimizer=NPULossScaleOptimizer; is_distributed=true; !read_from_source");
  EXPECT_EQ(Read(start + "o = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)\n"),
            "session-config: loss_scale_optimizer=LossScaleOptimizer; !read_from_source");
  EXPECT_EQ(Read("from npu_bridge.x import NPULossScaleOptimizer as LossScaleOptimizer\nimport tensorflow as tf\n"
                 "o = LossScaleOptimizer(opt, m, True)\n"),
            "session-config: loss_scale_optimizer=NPULossScaleOptimizer; is_distributed=true; !read_from_source");
  EXPECT_EQ(
      Read("import torch\ns = torch.amp.GradScaler('cuda', init_scale=1024)\nt = torch.cuda.amp.GradScaler(2.0)\n"),
      "flags: init_scale=1024; init_scale=2; !read_from_source");
}

TEST(PythonOptions, OfMindSporeAndVariables) {
  EXPECT_EQ(
      Read("import mindspore as ms\nms.set_context(mode=0, deterministic='ON', ascend_config={'precision_mode': "
           "'force_fp16'})\nms.device_context.ascend.op_precision.matmul_allow_hf32(True)\n"
           "os.environ['INF_NAN_MODE_ENABLE'] = '0'\nos.environ.setdefault(\"X\", \"1\")\nos.environ['Y'] = str(n)\n"),
      "flags: context.mode=0; context.deterministic=ON; context.ascend_config.precision_mode=force_fp16; "
      "device_context.ascend.op_precision.matmul_allow_hf32=true; env.INF_NAN_MODE_ENABLE=0; env.X=1; env.Y=?; "
      "!no_literal !read_from_source");
  EXPECT_EQ(
      Read("import torch\nimport torch.backends.cudnn as cudnn\ncudnn.allow_tf32 = True\nif torch.a != 1: pass\n"),
      "flags: torch.backends.cudnn.allow_tf32=true; !read_from_source");
}

// What Python prints of a member of an enumeration is its value; of other dotted words nothing is known.
TEST(PrintedArguments, MembersOfEnumerations) {
  EXPECT_EQ(Read("TrainingArguments(\noptim=OptimizerNames.ADAMW_TORCH,\nsave_strategy=SaveStrategy.STEPS,\n"
                 "lr_scheduler_type=<SchedulerType.COSINE: 'cosine'>,\ndtype=torch.bfloat16,\nname=model.Best,\n)\n"),
            "hf-training-args: optim=adamw_torch; save_strategy=steps; lr_scheduler_type=cosine; dtype=torch.bfloat16; "
            "name=model.Best;");
}

TEST(Mmengine, StepsOfAPipelineAreOneValue) {
  const std::string head =
      "optim_wrapper = dict(type=AmpOptimWrapper, dtype='a' if x else 'b')\nmodel = dict(type='X')\n";
  const std::string first = Read(head +
                                 "train_pipeline = [\n  dict(type='Resize', scale=(224, 224)),\n"
                                 "  dict(prob=0.50, type='Flip', backend_args=None),\n]\n");
  EXPECT_THAT(first, HasSubstr("optim_wrapper.type=AmpOptimWrapper; optim_wrapper.dtype=?;"));
  EXPECT_THAT(first, HasSubstr(" train_pipeline=[Resize(scale=[224, 224]), Flip(prob=0.5)];"));
  EXPECT_THAT(Read(head + "train_pipeline = [{'scale': [224, 224], 'type': 'Resize'}, dict(type='Flip', prob=.5)]\n"),
              HasSubstr(" train_pipeline=[Resize(scale=[224, 224]), Flip(prob=0.5)];"));
}

TEST(Documents, IntegersOfYaml) {
  EXPECT_EQ(Read("a: 010\nb: 0x2A\nc: 100_000\nd: 08\ne: '010'\nf: 0o17\ng: _1\nh: 1__0\n"),
            "yaml: a=8; b=42; c=100000; d=8; e=010; f=15; g=_1; h=1__0;");
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
