#include "formats/settings/settings_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "formats/plan.h"
#include "rules/settings_formats.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// "format: key=value; ..." of the first document, or the error.
std::string Read(absl::string_view text, absl::string_view kind = "") {
  auto documents = ReadSettings(text, "f", kind);
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) {
    out += " " + one.raw_key() + "=" + (one.has_value() ? ValueToText(one.value()) : "?") + ";";
  }
  return out;
}

TEST(SettingsFormats, AreRecognisedByContent) {
  EXPECT_EQ(Read("Namespace(lr=0.01, betas=[0.9, 0.95], name='a, b', x=None)\n"),
            "argparse-namespace: lr=0.01; betas=[0.9, 0.95]; name=a, b; x=none;");
  EXPECT_EQ(Read("----------- arguments -----------\n  lr ........ 0.01\n  bf16 ...... True\n"),
            "megatron-args: lr=0.01; bf16=true;");
  EXPECT_EQ(Read(R"({"train_batch_size": 8, "zero_optimization": {"stage": 2}, "fp16": {"enabled": "auto"}})"),
            "deepspeed-json: train_batch_size=8; zero_optimization.stage=2; fp16.enabled=none;");
  EXPECT_EQ(Read("# a dump\nexport A_B=1\nC='x y'\n"), "environment: A_B=1; C=x y;");
  EXPECT_EQ(Read("graph_options { rewrite_options { custom_optimizers { parameter_map { key: \"precision_mode\" "
                 "value { s: \"force_fp16\" } } } } }\n"),
            "session-config: precision_mode=force_fp16;");
  EXPECT_EQ(Read("torch==2.1.0+cu121\nFlash_Attn==2.5\n"),
            "packages: package.torch=2.1.0+cu121; package.flash-attn=2.5;");
  EXPECT_EQ(Read("Total train batch size (w. parallel, distributed & accumulation) = 1,024\n"),
            "hf-trainer-stdout: banner.total_train_batch_size=1024;");
  EXPECT_EQ(Read("a: 1\nb:\n  c: [x, 2]\n"), "yaml: a=1; b.c=[x, 2];");
}

TEST(SettingsFormats, LaunchScripts) {
  EXPECT_EQ(Read("#!/bin/bash\nLR=1e-4\nARGS=(--lr $LR --betas 0.9 0.95)\nN=$((2*4))\n"
                 "torchrun --nproc_per_node $N train.py \"${ARGS[@]}\" \\\n  --seed=7 --bf16 --data $OUTSIDE\n"),
            "launch-script: launch.command=torchrun; launch.entry=train.py; launch.nproc_per_node=8; lr=1e-04; "
            "betas=[0.9, 0.95]; seed=7; bf16=true; data=?; launch.nnodes=1;");
  EXPECT_THAT(Read("#!/bin/sh\nif [ $1 ]; then X=1; else X=2; fi\npython a.py --x $X\n"), HasSubstr(" x=?;"));
}

TEST(SettingsFormats, Hosts) {
  EXPECT_EQ(Read("Architecture:        aarch64\nCPU(s):              192\nOn-line CPU(s) list: 0-191\nModel name:      "
                 "    Kunpeng-920\n"),
            "host: host.cpu_count=192; host.cpu_model=Kunpeng-920;");
  EXPECT_EQ(Read("MemTotal:       1583921332 kB\nMemFree:        1000 kB\nSwapTotal:             0 kB\n"),
            "host: host.memory_bytes=1621935443968; host.swap_bytes=0;");
  EXPECT_EQ(Read("processor\t: 0\nmodel name\t: Xeon\n\nprocessor\t: 1\nmodel name\t: Xeon\n"),
            "host: host.cpu_model=Xeon; host.cpu_count=2;");
}

TEST(SettingsFormats, ScalerStates) {
  EXPECT_EQ(Read("{'scale': 65536.0, 'growth_factor': 2.0, 'growth_interval': 2000, '_growth_tracker': 7}\n"),
            "scaler-state: scale=65536; growth_factor=2; growth_interval=2000; _growth_tracker=7;");
  EXPECT_EQ(
      Read(absl::string_view(
          "\x80\x02}(X\x05\0\0\0scaleG@\xf0\0\0\0\0\0\0X\x0f\0\0\0growth_intervalM\xd0\x07X\x0f\0\0\0_growth_tracker"
          "K\x07u.",
          70)),
      "scaler-state: scale=65536; growth_interval=2000; _growth_tracker=7;");
  EXPECT_THAT(Read("{'growth_interval': 1, '_growth_tracker': ", "scaler-state"), HasSubstr("DATA_LOSS"));
  // The state of a scaler that is off, under this kind alone.
  EXPECT_EQ(Read("{}\n", "scaler-state"), "scaler-state: enabled=false;");
  EXPECT_EQ(Read(absl::string_view("\x80\x02}.", 4), "scaler-state"), "scaler-state: enabled=false;");
  // Not empty: nothing of a scaler, and nothing that says it is off.
  EXPECT_EQ(Read("{'step': {}}\n", "scaler-state"), "scaler-state: step={};");
  EXPECT_THAT(Read(absl::string_view("\x80\x02].", 4), "scaler-state"), Not(HasSubstr("enabled")));
}

TEST(SettingsFormats, ParameterGroups) {
  EXPECT_EQ(Read("AdamW (\nParameter Group 0\n    betas: (0.9, 0.95)\n    weight_decay: 0.1\n\nParameter Group 1\n"
                 "    weight_decay: 0.0\n)\n"),
            "parameter-groups: group.betas=[0.9, 0.95]; group.weight_decay=0.1; group.weight_decay=0;");
  EXPECT_EQ(
      Read(
          R"({"param_groups": [{"lr": 1e-4, "weight_decay": 0.1, "params": [0, 1]}, {"lr": 1e-4, "params": ["a.b"]}]})",
          "parameter-groups"),
      "parameter-groups: group.lr=1e-04; group.weight_decay=0.1; group.params=2; group.lr=1e-04; group.params=1; "
      "group.names=a.b;");
  EXPECT_THAT(Read("[1, 2]", "parameter-groups"), HasSubstr("DATA_LOSS"));
}

TEST(SettingsFormats, VersionFiles) {
  EXPECT_EQ(Read("Version=24.1.rc2.2\nascendhal_version=7.35.23\npackage_version=24.1.rc3\n", "versions"),
            "versions: driver.version=24.1.rc3;");
  EXPECT_EQ(Read("Version=7.5.0\ncompatible_version_drv=[7.0.0]\n"), "versions: firmware.version=7.5.0;");
  EXPECT_EQ(Read("# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.0.0]\nhccl_running_version=[1.83.T8]\n"),
            "versions: cann.hccl.version=1.83.T8; cann.runtime.version=8.0.0;");
  EXPECT_EQ(Read("package_name=Ascend-cann-toolkit\nversion=8.3.RC1\n"), "versions: cann.toolkit.version=8.3.RC1;");
  EXPECT_EQ(Read(R"({"cuda": {"name": "CUDA SDK", "version": "12.1.0"}, "nvcc": {"version": "12.1.66"}})"),
            "versions: cuda.version=12.1.0; nvcc.version=12.1.66;");
  EXPECT_EQ(Read("CUDA Version 10.1.243\n"), "versions: cuda.version=10.1.243;");
}

TEST(SettingsFormats, Toml) {
  EXPECT_EQ(Read("# run\n[optimizer]\nname = \"AdamW\" # why\nlr = 3e-4\nfused = true\n[training]\nsteps = "
                 "10_000\nsizes = [1,\n  2]\n"
                 "a.\"b\" = 'x#y'\n[[stage]]\nk = 1\n[[stage]]\nk = 2\n"),
            "toml: optimizer.name=AdamW; optimizer.lr=3e-04; optimizer.fused=true; training.steps=10000; "
            "training.sizes=[1, 2]; training.a.b=x#y; stage.0.k=1; stage.1.k=2;");
  EXPECT_THAT(Read("[a]\nb = 1\nno toml\n"), HasSubstr("line 3"));
}

TEST(SettingsFormats, MmengineConfigs) {
  EXPECT_EQ(Read("_base_ = ['x.py']\nbase_lr = 1e-3\noptim_wrapper = dict(\n    type='AmpOptimWrapper',  # (half\n"
                 "    optimizer=dict(type='AdamW', lr=base_lr, betas=(0.9, 0.999)),\n    clip_grad=None)\n"
                 "train_cfg = {'max_epochs': 12, 'by': f(1)}\nparam_scheduler = [dict(end=500), dict(end=12)]\n"),
            "mmengine-config: _base_=[x.py]; base_lr=0.001; optim_wrapper.type=AmpOptimWrapper; "
            "optim_wrapper.optimizer.type=AdamW; optim_wrapper.optimizer.lr=0.001; "
            "optim_wrapper.optimizer.betas=[0.9, 0.999]; optim_wrapper.clip_grad=none; train_cfg.max_epochs=12; "
            "train_cfg.by=?; param_scheduler.0.end=500; param_scheduler.1.end=12;");
}

TEST(SettingsFormats, NpuSmiLayouts) {
  const std::string a2 =
      "| npu-smi 24.1.rc2    Version: 24.1.rc2 |\n| NPU   Name   | Health | Power(W) |\n| Chip  | Bus-Id | AICore(%) "
      "|\n"
      "| 0     910B3  | OK     | 91.2     |\n| 0     | 0000:C1:00.0 | 0  10568/ 65536 |\n";
  EXPECT_THAT(Read(a2), HasSubstr("npu.name=910B3;"));
  const std::string v2 =
      "| npu-smi 25.2.0 Version: 25.2.0 |\n| NPU ID | Name | Health |\n| 3 | Ascend950PR | Warning |\n";
  EXPECT_THAT(Read(v2), HasSubstr("npu.name=Ascend950PR;"));
}

TEST(SettingsFormats, StandInsAndStrangersAreNamed) {
  EXPECT_THAT(Read(""), HasSubstr("FAILED_PRECONDITION: empty"));
  EXPECT_THAT(Read("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), HasSubstr("Git LFS pointer"));
  EXPECT_THAT(Read("<!DOCTYPE html><html></html>"), HasSubstr("HTML page"));
  EXPECT_THAT(Read("bash: npu-smi: command not found\n"), HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(Read(std::string("\x80\x02\x00\x01\xff", 5)), HasSubstr("UNIMPLEMENTED"));
}

// Every reader takes every other one's input, and halves of it, without a crash.
TEST(SettingsFormats, BadInputIsAnswered) {
  const std::string samples[] = {"Namespace(a=[1, (2, {",
                                 "--- arguments ---\n  a ..",
                                 "{\"train_batch_size\": ",
                                 "graph_options { parameter_map {",
                                 "}}}}",
                                 "| npu-smi\n| NPU |\n",
                                 "NVIDIA-SMI Driver Version:\n",
                                 "A=$(((((\n\"$'`${",
                                 "torchrun \"${A[@]",
                                 ":::MLLOG {\"key\": \"a\", \"value\"",
                                 "BatchNorm2d(",
                                 "{\"server_list\": 1}",
                                 "PARAMETER : : :",
                                 std::string(4096, '['),
                                 std::string(4096, '{'),
                                 "DeepSpeedEngine configuration:\n[config.py:1:print]   a {\n",
                                 "json = {",
                                 "\xff\xfe\x00"};
  for (const SettingsFormat* format : AllSettingsFormats()) {
    for (const std::string& sample : samples) {
      (void)format->sniff(sample);
      (void)format->parse(sample, "f");
      (void)format->parse(absl::string_view(sample).substr(0, sample.size() / 2), "f");
    }
    (void)format->parse("", "f");
  }
}

TEST(LogSettingsScanner, TheFirstBlockCounts) {
  LogSettingsScanner scanner("log");
  int line = 0;
  for (const char* text :
       {"x", "---- arguments ----", "  lr .... 1", "- end of arguments -", "--- arguments ---", "  lr .... 2"}) {
    scanner.Feed(text, ++line);
  }
  auto documents = scanner.Finish();
  ASSERT_EQ(documents.size(), 1U);
  ASSERT_EQ(documents[0].settings_size(), 1);
  EXPECT_EQ(documents[0].settings(0).raw_value(), "1");
  EXPECT_EQ(documents[0].settings(0).origin(), "log:3");
}

// A row of another name is a slip of the pen, which nobody would notice.
TEST(SettingsFormats, FactsAreOfFormatsAndKindsThatThereAre) {
  // What others than a reader of files make: the scanner of logs, the observer; and "script", a plan's word.
  std::set<std::string> names = {"hf-trainer-stdout", "observed", "script"};
  for (const SettingsFormat* format : AllSettingsFormats()) {
    names.emplace(format->name);
    names.emplace(format->kind);
  }
  for (const auto& [name, facts] : BuiltInSettingsFormats()) {
    EXPECT_TRUE(names.contains(name)) << name << " of rules/data/settings_formats.yaml is no format and no kind";
  }
}

// A kind that the plan does not know cannot be named where content does not tell.
TEST(SettingsFormats, APlanCanNameEveryKind) {
  for (const SettingsFormat* format : AllSettingsFormats()) {
    if (format->kind != format->name) continue;
    const auto plan = ParsePlan(absl::StrCat("settings: [{file: a, kind: ", format->kind, "}]\n"));
    EXPECT_TRUE(plan.ok()) << plan.status();
  }
}

}  // namespace
}  // namespace paritect
