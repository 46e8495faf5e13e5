// What has little form of its own: flat TOML, lines of a pipeline, printed models beside configurations, meminfo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Read(absl::string_view text, absl::string_view kind = "") {
  const auto documents = ReadSettings(text, "f", kind);
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", ValueToText(one.value()), ";");
  }
  return out;
}

TEST(Toml, NeedsNoTable) {
  EXPECT_EQ(Read("lr = 0.01\nweight_decay = 0.1\nmomentum = 0.9\n"), "toml: lr=0.01; weight_decay=0.1; momentum=0.9;");
  EXPECT_EQ(Read("# run 3\nlr = 0.01  # peak\noptimizer = \"adamw\"\nbetas = [\n  0.9,\n  0.95,\n]\n"),
            "toml: lr=0.01; optimizer=adamw; betas=[0.9, 0.95];");
  EXPECT_EQ(Read("lr = 0.01\noptimizer = adamw\nuse_amp = True\n"), "toml: lr=0.01; optimizer=adamw; use_amp=true;");
  EXPECT_EQ(Read("[train]\nlr = 0.01\noptimizer = adamw\n"), "toml: train.lr=0.01; train.optimizer=adamw;");
}

TEST(Toml, IsNotWhatHasBlanksByChance) {
  EXPECT_THAT(Read("torch==2.1.0\nnumpy==1.26.4\n"), StartsWith("packages:"));
  EXPECT_THAT(Read("RANK=0\nWORLD_SIZE=8\n"), StartsWith("environment:"));
  EXPECT_THAT(Read("import os\nlr = 0.01\n"), Not(StartsWith("toml:")));
  EXPECT_THAT(Read("a == b\nc = d\n"), Not(StartsWith("toml:")));
}

TEST(Models, AKeyWithAValueIsNoLayer) {
  EXPECT_EQ(Read("dropout: 0.1\nmomentum: 0.9\nlr: 0.001\n"), "yaml: dropout=0.1; momentum=0.9; lr=0.001;");
  EXPECT_THAT(Read("model:\n  hidden_dropout: 0.1\n  linear: {bias: true}\nadam:\n  lr: 1\n"), StartsWith("yaml:"));
  EXPECT_THAT(Read("Net(\n  (bn1): BatchNorm2d(64, eps=1e-05, momentum=0.1)\n  (drop): Dropout(p=0.1)\n)\n"),
              HasSubstr("batchnorm.momentum=0.1;"));
  EXPECT_THAT(Read("Momentum: learning_rate=0.1 momentum=0.9\nDropout<keep_prob=0.9>\n"),
              HasSubstr("optimizer.momentum=0.9;"));
}

TEST(Trackers, AValueBesideItsDescription) {
  EXPECT_EQ(Read("learning_rate:\n    desc: null\n    value: 0.001\ndesc: run\n"),
            "yaml: learning_rate=0.001; desc=run;");
}

TEST(Pipelines, WhatTheyPrint) {
  EXPECT_EQ(Read("seed=77\nshuffle_buffer_size=13104\n", "pipeline"), "pipeline: seed=77; shuffle_buffer_size=13104;");
  EXPECT_EQ(Read("data: seed=77 size=(224, 224), mean=[0.5, 0.5] mode='a b'\n", "pipeline"),
            "pipeline: seed=77; size=[224, 224]; mean=[0.5, 0.5]; mode=a b;");
  EXPECT_EQ(Read("Dataset built\nseed: 77\n--drop-last=True\n", "pipeline"), "pipeline: seed=77; drop-last=true;");
  EXPECT_EQ(Read("seed: 77\ndata:\n  shuffle: true\n", "pipeline"), "yaml: seed=77; data.shuffle=true;");
  EXPECT_THAT(Read("nothing here\n", "pipeline"), HasSubstr("no NAME=VALUE"));
  // A text that does not end, a sign without a name.
  EXPECT_EQ(Read("a=[1, 2\n= 3\nb='x\n", "pipeline"), "pipeline: a=[1, 2; b='x;");
}

TEST(Hosts, OneLineOfMeminfo) {
  EXPECT_EQ(Read("MemTotal:       131040000 kB\n"), "host: host.memory_bytes=134184960000;");
  EXPECT_THAT(Read("MemTotal: 5\nlr: 0.1\n"), StartsWith("yaml:"));
}

TEST(Logs, WhatCountedInsteadOfTheArgument) {
  const std::string block =
      "------------------------ arguments ------------------------\n  lr .............................. 0.0001\n"
      "-------------------- end of arguments ---------------------\n";
  EXPECT_EQ(Read(block), "megatron-args: lr=1e-04;");
  EXPECT_EQ(Read(block + " > using checkpoint value 1e-05 for learning rate\n"), "megatron-args: lr=1e-05;");
  EXPECT_EQ(Read(block + " > overriding learning rate value to 0.0002\n"), "megatron-args: lr=2e-04;");
  EXPECT_THAT(Read("Process rank: 0, device: npu:0, distributed training: True, compute dtype: torch.bfloat16\n"
                   "  Num examples = 10\n"),
              HasSubstr("banner.compute_dtype=torch.bfloat16;"));
}

TEST(Logs, HowManyProcessesTransformersCounted) {
  const auto world = [](const std::string& line) {
    const std::string read = Read(line + "\n  Num examples = 10\n");
    const std::size_t at = read.find("banner.world_size=");
    return at == std::string::npos ? "" : read.substr(at, read.find(';', at) - at);
  };
  const std::string head = "11/24/2026 09:10:00 - WARNING - __main__ - Process rank: ";
  EXPECT_EQ(world(head + "0, device: npu:0, n_gpu: 1, distributed training: False, 16-bits training: True"),
            "banner.world_size=1");
  EXPECT_EQ(world(head + "-1, device: cuda:0, n_gpu: 1distributed training: False, 16-bits training: False"),
            "banner.world_size=1");
  EXPECT_EQ(world(head + "0, world size: 8, device: npu:0, distributed training: True"), "banner.world_size=8");
  // Several devices of one process, one of several processes.
  EXPECT_EQ(world(head + "0, device: cuda:0, n_gpu: 8, distributed training: False, 16-bits training: True"), "");
  EXPECT_EQ(world(head + "0, device: npu:0, n_gpu: 1, distributed training: True, 16-bits training: True"), "");
}

}  // namespace
}  // namespace paritect
