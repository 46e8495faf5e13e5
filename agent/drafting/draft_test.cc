#include "agent/drafting/draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/drafting/recognise.h"
#include "common/memory_file_system.h"
#include "formats/archives/gzip_fixture.h"
#include "formats/archives/tar_fixture.h"
#include "formats/plan.h"
#include "formats/plan_text.h"

namespace paritect {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string Log(int steps, int first = 1) {
  std::string text;
  for (int step = first; step < first + steps; ++step) {
    absl::StrAppend(&text, "step ", step, "/", steps, " loss ", 2.5 - step * 0.001, " lr 1e-3\n");
  }
  return text;
}

class DraftTest : public testing::Test {
 protected:
  DraftTest() {
    fs_.AddFile("/gpu/train.log", Log(60));
    fs_.AddFile("/gpu/run.sh", "#!/bin/bash\npython train.py --lr 1e-3 --batch-size 32\n");
    fs_.AddFile("/gpu/train.py", "import torch\nprint(torch.__version__)\n");
    fs_.AddFile("/gpu/requirements.txt", "torch==2.1.0\nnumpy==1.26.4\n");
    fs_.AddFile("/gpu/data/part-0.jsonl", "{\"a\": 1}\n");
  }

  Draft Of(const std::string& path = "/gpu", DraftOptions options = {}) {
    auto draft = DraftPlan(fs_, BuiltInRules(), path, options);
    EXPECT_TRUE(draft.ok()) << draft.status();
    return draft.ok() ? *std::move(draft) : Draft();
  }
  std::string Refusal(const std::string& path = "/gpu") {
    auto draft = DraftPlan(fs_, BuiltInRules(), path, {});
    return draft.ok() ? "" : std::string(draft.status().message());
  }
  // "key path format" of everything taken, in the order of the plan.
  static std::vector<std::string> Taken(const Draft& draft) {
    std::vector<std::string> taken;
    for (const TakenSource& one : draft.taken) taken.push_back(absl::StrCat(one.key, " ", one.path, " ", one.format));
    return taken;
  }
  static std::vector<std::string> NotTaken(const Draft& draft) {
    std::vector<std::string> not_taken;
    for (const auto& one : draft.not_taken) not_taken.push_back(absl::StrCat(one.path, " ", one.why));
    return not_taken;
  }

  MemoryFileSystem fs_;
};

TEST_F(DraftTest, EveryFileOfAPlainRunHasItsPlace) {
  const Draft draft = Of();
  EXPECT_THAT(Taken(draft),
              ElementsAre("datasets data/ tree", "logs train.log text", "settings requirements.txt packages",
                          "settings run.sh launch-script", "scripts train.py python"));
  EXPECT_THAT(NotTaken(draft), IsEmpty());
  ASSERT_THAT(draft.plans, SizeIs(1));
  EXPECT_EQ(draft.plans[0].info().run(), "gpu");
  EXPECT_TRUE(draft.plans[0].info().drafted());
  EXPECT_EQ(draft.plans[0].info().platform(), "auto") << "never guessed";
}

TEST_F(DraftTest, ALogThatPrintsItsArgumentsIsALog) {
  const std::string arguments = "2026-12-01 20:47:47,318 INFO args: Namespace(data='data', lr=0.05, batch_size=16)\n";
  fs_.AddFile("/gpu/train.log", absl::StrCat(arguments, Log(60)));
  EXPECT_THAT(Taken(Of()), Contains("logs train.log text"));
  // What else a program prints before it trains: its model, or what it runs on.
  const std::string model =
      "2026-12-01 20:47:47,318 Model: \"Tagger(\n  (dropout): Dropout(p=0.5, inplace=False)\n"
      "  (rnn): LSTM(100, 256, batch_first=True)\n  (linear): Linear(in_features=512, out_features=20, "
      "bias=True)\n)\"\n";
  fs_.AddFile("/gpu/train.log", absl::StrCat(model, Log(60)));
  EXPECT_THAT(Taken(Of()), Contains("logs train.log text"));
  fs_.AddFile("/gpu/train.log", model);
  EXPECT_THAT(Taken(Of()), Contains("settings train.log model"));
  // Without a curve the arguments are what it tells.
  fs_.AddFile("/gpu/train.log", arguments);
  EXPECT_THAT(Taken(Of()), Contains("settings train.log argparse-namespace"));
}

// Of the Hugging Face Trainer too, whose banner has another name as a document.
TEST_F(DraftTest, ALogThatPrintsABannerIsALog) {
  std::string log =
      "***** Running training *****\n  Num examples = 1,920\n  Num Epochs = 1\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 32\n";
  fs_.AddFile("/banner/out.log", log + Log(60));
  EXPECT_THAT(Taken(Of("/banner")), Contains("logs out.log text"));
}

// Whatever it names: a plan of one kind of source alone is a plan.
TEST_F(DraftTest, APlanOfOneSourceIsAPlan) {
  for (const char* key :
       {"datasets: [{name: a, root: b}]", "logs: [a]", "settings: [a]", "scripts: [a]", "shards: [{list: a}]",
        "weights: [{step: 0, file: a}]", "tensors: [{step: 0, file: a}]", "observed: [a]"}) {
    MemoryFileSystem fs;
    fs.AddFile("/run/npu.yaml", absl::StrCat(key, "\n"));
    const auto file = RecogniseFile(fs, BuiltInRules(), "/run/npu.yaml", 100);
    EXPECT_EQ(file.kind, FileKind::kPlan) << key;
  }
}

TEST_F(DraftTest, WhatIsWrittenDownIsReadBackAsTheSamePlan) {
  fs_.AddFile("/gpu/odd \"name\"\n#1.log", Log(60, 61));
  const Draft draft = Of();
  const std::string text = PlanToText(draft.plans[0], {{"head"}, {{"train.log", "remark"}}, {"end"}});
  EXPECT_THAT(text, HasSubstr("  - train.log   # remark\n"));
  auto plan = ParsePlan(text);
  ASSERT_TRUE(plan.ok()) << plan.status() << "\n" << text;
  ASSERT_EQ(plan->logs_size(), draft.plans[0].logs_size());
  for (int i = 0; i < plan->logs_size(); ++i) EXPECT_EQ(plan->logs(i).file(), draft.plans[0].logs(i).file());
  EXPECT_EQ(plan->datasets(0).root(), "data");
}

TEST_F(DraftTest, NamesThatAreNoTextStayInThePlanAndOutOfTheYaml) {
  fs_.AddFile("/gpu/\xff.log", Log(60, 61));
  const Draft draft = Of();
  EXPECT_THAT(Taken(draft), Contains("logs \xff.log text"));
  const std::string text = PlanToText(draft.plans[0], {});
  EXPECT_THAT(text, AllOf(HasSubstr("# \\xFF.log: this name is not UTF-8"), Not(HasSubstr("\xff"))));
  EXPECT_TRUE(ParsePlan(text).ok());
}

TEST_F(DraftTest, WhatTellsNothingOrTwoThingsIsNamedWithItsReason) {
  fs_.AddFile("/gpu/core.4711", absl::string_view("\x7f"
                                                  "ELF\0\1\2",
                                                  7));
  fs_.AddFile("/gpu/empty.txt", "");
  fs_.AddFile("/gpu/big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  fs_.AddFile("/gpu/config.json", "{\"model_type\": \"llama\", \"hidden_size\": 64, \"torch_dtype\": \"float32\"}");
  fs_.AddFile("/gpu/all_results.json", "{\n  \"epoch\": 1.0,\n  \"train_loss\": 3.01,\n  \"train_samples\": 4800\n}\n");
  fs_.AddFile("/gpu/notes.json", "{\"author\": \"me\", \"city\": \"x\"}");
  fs_.AddSymlink("/gpu/latest", "/elsewhere");
  fs_.AddFile("/elsewhere/other.log", Log(60));
  fs_.AddSymlink("/gpu/gone", "/nowhere");
  fs_.AddSpecial("/gpu/pipe");
  fs_.AddFile("/gpu/secret.log", "x");
  fs_.MakeUnreadable("/gpu/secret.log");
  EXPECT_THAT(NotTaken(Of()),
              ElementsAre("all_results.json not_taken_results", "big.bin not_taken_stand_in",
                          "config.json not_taken_model", "core.4711 not_taken_unknown", "empty.txt not_taken_empty",
                          "gone not_taken_dangling", "latest not_taken_link", "notes.json not_taken_no_known_key",
                          "pipe not_taken_special", "secret.log not_taken_unreadable"));
}

TEST_F(DraftTest, RanksAreReadOffTheNames) {
  fs_.AddFile("/r/logs/rank0.log", Log(60));
  fs_.AddFile("/r/logs/rank1.log", Log(60));
  fs_.AddFile("/r/shards/rank_0.txt", "a.bin\nb.bin\n");
  fs_.AddFile("/r/shards/rank_1.txt", "c.bin\nd.bin\n");
  EXPECT_THAT(Taken(Of("/r")),
              ElementsAre("logs logs/rank{rank}.log text", "shards shards/rank_{rank}.txt shard-list"));
}

TEST_F(DraftTest, SeveralRunsAreNamed) {
  for (const char* run : {"seed1", "seed2"}) fs_.AddFile(absl::StrCat("/runs/", run, "/train.log"), Log(60));
  EXPECT_THAT(Refusal("/runs"), AllOf(HasSubstr("several runs"), HasSubstr("/runs/seed1, /runs/seed2")));
  // One run beside evidence of another kind of the same run is one.
  fs_.AddFile("/one/train.log", Log(60));
  fs_.AddFile("/one/output/log.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.4}\n");
  EXPECT_EQ(Refusal("/one"), "");
}

// A work folder as it lies on a disk: what is of the run is told by evidence, the rest is named with its reason.
TEST_F(DraftTest, CopiesSetAsideAndLinksAreNoFurtherEvidence) {
  for (const char* name : {"run.sh.bak", "run.sh~", "run.sh.bak2", "run.sh.orig", "run - Copy.sh", "run - 副本.sh",
                           "run (1).sh", "run_old_20261120.sh"}) {
    fs_.AddFile(absl::StrCat("/gpu/", name), "#!/bin/bash\npython train.py --lr 5e-3 --batch-size 8\n");
  }
  fs_.AddFile("/gpu/run_large.sh.bak", "source env.sh\n");  // of nothing that is here
  fs_.AddSymlink("/gpu/current.log", "/gpu/train.log");
  const Draft draft = Of();
  EXPECT_THAT(Taken(draft),
              ElementsAre("datasets data/ tree", "logs train.log text", "settings requirements.txt packages",
                          "settings run.sh launch-script", "scripts train.py python"));
  EXPECT_THAT(NotTaken(draft), AllOf(Contains("current.log not_taken_same_file"), Contains("run (1).sh not_taken_copy"),
                                     Contains("run - 副本.sh not_taken_copy"), Contains("run.sh~ not_taken_copy"),
                                     Contains("run_old_20261120.sh not_taken_copy"), SizeIs(10)));
}

std::string OtherLog(int steps, double loss) {
  std::string text;
  for (int step = 1; step <= steps; ++step)
    absl::StrAppend(&text, "step ", step, "/60 loss ", loss - step * 0.002, "\n");
  return text;
}

TEST_F(DraftTest, OfLogsOfSeveralRunsTheOwnIsTold) {
  fs_.AddFile("/gpu/first_try.log", OtherLog(20, 3));
  EXPECT_THAT(Taken(Of()), Contains("logs train.log text")) << "it alone reaches its end";
  EXPECT_THAT(NotTaken(Of()), ElementsAre("first_try.log not_taken_other_run"));
  fs_.AddFile("/gpu/second_try.log", OtherLog(60, 3));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("several runs"), HasSubstr("/gpu/second_try.log, /gpu/train.log")));
  fs_.AddFile("/gpu/run.sh", "#!/bin/bash\npython train.py --lr 1e-3 --batch-size 32 2>&1 | tee train.log\n");
  EXPECT_THAT(NotTaken(Of()), ElementsAre("first_try.log not_taken_other_run", "second_try.log not_taken_other_run"));
  // With all that lies in a folder of its own.
  fs_.AddFile("/o/train.log", OtherLog(60, 3));
  fs_.AddFile("/o/exp2/train.log", Log(60));
  fs_.AddFile("/o/run.sh", "#!/bin/bash\npython train.py --lr 1e-3 --batch-size 32 2>&1 | tee exp2/train.log\n");
  EXPECT_THAT(NotTaken(Of("/o")), ElementsAre("train.log not_taken_other_run")) << "named with its folder";
  fs_.AddFile("/gpu/earlier/train.log", OtherLog(60, 4));
  fs_.AddFile("/gpu/earlier/args.yaml", "learning_rate: 0.5\nbatch_size: 4\n");
  EXPECT_THAT(NotTaken(Of()), AllOf(Contains("earlier/train.log not_taken_other_run"),
                                    Contains("earlier/args.yaml not_taken_other_run")));
}

TEST_F(DraftTest, WhatGoesOnOrSaysTheSameIsOfTheRun) {
  fs_.AddFile("/r/train.log", Log(60));
  fs_.AddFile("/r/train_restart.log", OtherLog(60, 3).substr(OtherLog(40, 3).size()));
  fs_.AddFile("/r/nohup.out", Log(60));
  fs_.AddFile("/r/rank0.log", OtherLog(60, 5));
  fs_.AddFile("/r/rank1.log", OtherLog(60, 6));
  fs_.AddFile("/n/node0/train.log", Log(60));
  fs_.AddFile("/n/node1/train.log", OtherLog(60, 3));
  EXPECT_THAT(NotTaken(Of("/n")), IsEmpty());
  fs_.AddFile("/s/train.log", Log(60));
  fs_.AddFile("/s/train_restart.log", OtherLog(60, 3).substr(OtherLog(40, 3).size()));
  fs_.AddFile("/s/nohup.out", Log(60));
  EXPECT_THAT(NotTaken(Of("/s")), IsEmpty());
}

TEST_F(DraftTest, OfLaunchScriptsTheOneOfTheRunIsTold) {
  fs_.AddFile("/gpu/eval.sh", "#!/bin/bash\npython evaluate.py --batch-size 8\n");
  EXPECT_THAT(NotTaken(Of()), ElementsAre("eval.sh not_taken_other_work"));
  fs_.AddFile("/gpu/run_large.sh", "#!/bin/bash\npython train.py --lr 9e-3 --batch-size 8\n");
  EXPECT_THAT(NotTaken(Of()), ElementsAre("eval.sh not_taken_other_work", "run.sh not_taken_launches",
                                          "run_large.sh not_taken_launches"));
  fs_.AddFile("/gpu/train.log", absl::StrCat("Namespace(lr=0.009, batch_size=8)\n", Log(60)));
  EXPECT_THAT(NotTaken(Of()), ElementsAre("eval.sh not_taken_other_work", "run.sh not_taken_other_launch"))
      << "told by the log";
}

TEST_F(DraftTest, ALaunchScriptIsTakenByEvidenceNotByItsName) {
  fs_.AddFile("/gpu/finetune.sh", "#!/bin/bash\npython main.py --lr 9e-3 --batch-size 8\n");
  EXPECT_THAT(NotTaken(Of()), Contains("run.sh not_taken_launches")) << "either may have started it";
  fs_.AddFile("/gpu/finetune.sh", "#!/bin/bash\npython main.py --seed 3\n");
  fs_.AddFile("/gpu/train.log", absl::StrCat("Namespace(lr=0.5, batch_size=4)\n", Log(60)));
  EXPECT_THAT(NotTaken(Of()), Contains("finetune.sh not_taken_launches"))
      << "that the other one is not it says nothing for this one";
  fs_.AddFile("/e/eval.sh", "#!/bin/bash\npython evaluate.py --batch-size 8\n");
  fs_.AddFile("/e/train.log", Log(60));
  EXPECT_THAT(Taken(Of("/e")), ElementsAre("logs train.log text")) << "a lone one of other work, too";
  fs_.AddFile("/e/eval.sh", "#!/bin/bash\npython test.py --batch-size 8 > train.log\n");
  EXPECT_THAT(NotTaken(Of("/e")), IsEmpty()) << "it wrote the log";
}

TEST_F(DraftTest, OfDocumentsThoseThatTheLaunchNames) {
  fs_.AddFile("/gpu/run.sh", "#!/bin/bash\npython train.py --config configs/small.yaml\n");
  fs_.AddFile("/gpu/configs/small.yaml", "base: common.yaml\nlearning_rate: 0.1\nbatch_size: 8\n");
  fs_.AddFile("/gpu/configs/common.yaml", "optimizer: adamw\nweight_decay: 0.1\nseed: 1\n");
  fs_.AddFile("/gpu/configs/large.yaml", "learning_rate: 0.5\nbatch_size: 64\n");
  EXPECT_THAT(NotTaken(Of()), ElementsAre("configs/large.yaml not_taken_unnamed"));
}

TEST_F(DraftTest, ARecordersRunCountsWithItsCurve) {
  const std::string config = "learning_rate: 0.5\nbatch_size: 4\n";
  fs_.AddFile("/gpu/wandb/run-1/files/config.yaml", config);
  fs_.AddFile("/gpu/wandb/run-1/files/wandb-summary.json", "{\"loss\": 9.9, \"_step\": 12}");
  EXPECT_THAT(NotTaken(Of()), ElementsAre("wandb/run-1/files/config.yaml not_taken_recorder",
                                          "wandb/run-1/files/wandb-summary.json not_taken_results"));
  fs_.AddFile("/w/wandb/run-1/files/config.yaml", config);
  EXPECT_THAT(Taken(Of("/w")), ElementsAre("settings wandb/run-1/files/config.yaml yaml")) << "all that there is";
}

TEST_F(DraftTest, ADocumentThatSetsTheTrainingIsNoResult) {
  fs_.AddFile("/gpu/final.json", "{\"accuracy\": 0.9, \"learning_rate\": 0.1, \"batch_size\": 8}");
  EXPECT_THAT(Taken(Of()), Contains("settings final.json json"));
}

TEST_F(DraftTest, FoldersOfSamplesAloneAreOneDataSet) {
  for (const char* path : {"/img/a/1.jpg", "/img/a/2.jpg", "/img/b/1.jpg"}) fs_.AddFile(path, "\xff\xd8\xff\xe0JFIF");
  const Draft draft = Of("/img");
  EXPECT_THAT(Taken(draft), ElementsAre("datasets ./ tree"));
  EXPECT_THAT(draft.plans[0].datasets(0).exclude(), ElementsAre("plan.yaml")) << "a plan may be written there";
}

TEST_F(DraftTest, AnArchiveIsNotReadThrough) {
  const std::string tar = TarFile("run.sh", "#!/bin/bash\npython train.py --lr 7e-3 --batch-size 9\n");
  fs_.AddFile("/gpu/old.tar", tar);
  fs_.AddFile("/gpu/old.tgz", MakeGzip(tar));
  EXPECT_THAT(NotTaken(Of()), ElementsAre("old.tar not_taken_loose_data", "old.tgz not_taken_loose_data"));
}

TEST_F(DraftTest, NodesOfARunAreAPlanEach) {
  fs_.AddFile("/n/node0/rank0.log", Log(60));
  fs_.AddFile("/n/node1/rank1.log", Log(60));
  EXPECT_THAT(Of("/n").plans, SizeIs(2));
  // Named like runs, but their ranks complete each other.
  fs_.AddFile("/m/a/rank0.log", Log(60));
  fs_.AddFile("/m/b/rank1.log", Log(60));
  const Draft draft = Of("/m");
  ASSERT_THAT(draft.plans, SizeIs(2));
  EXPECT_EQ(draft.plans[0].info().node(), "a");
  EXPECT_EQ(draft.plans[1].info().node(), "b");
  EXPECT_EQ(draft.plans[0].info().run(), draft.plans[1].info().run());
}

TEST_F(DraftTest, ACheckpointWithoutAStepIsLeftToAPerson) {
  fs_.AddFile("/gpu/model.npy",
              absl::StrCat("\x93NUMPY\x01", absl::string_view("\0", 1), "\x76", absl::string_view("\0", 1),
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", std::string(118 - 58, ' '),
                           "\n", std::string(4, 'a')));
  EXPECT_THAT(NotTaken(Of()), Contains("model.npy not_taken_no_step"));
}

TEST_F(DraftTest, AListStandsBesideItsFolderOrForIt) {
  fs_.AddFile("/gpu/data.md5", "900150983cd24fb0d6963f7d28e17f72  part-0.jsonl\n");
  EXPECT_THAT(NotTaken(Of()), Contains("data.md5 not_taken_folder_read"));
  fs_.AddFile("/npu/train.log", Log(60));
  fs_.AddFile("/npu/train.md5", "900150983cd24fb0d6963f7d28e17f72  part-0.jsonl\n");
  Draft gpu = Of();
  Draft npu = Of("/npu");
  PairDataNames(fs_, {&gpu.plans[0]}, {&npu.plans[0]});
  EXPECT_EQ(gpu.plans[0].datasets(0).name(), npu.plans[0].datasets(0).name());
}

TEST_F(DraftTest, NothingRecognisedIsRefused) {
  fs_.AddFile("/none/readme.txt", "nothing here\n");
  EXPECT_THAT(Refusal("/none"), HasSubstr("nothing in this folder is recognised"));
  fs_.AddDirectory("/empty");
  EXPECT_THAT(Refusal("/empty"), HasSubstr("nothing in this folder is recognised"));
}

TEST_F(DraftTest, WhatARunRecordedIsTakenInPlaceOfADraft) {
  fs_.AddFile("/rec/node-1/plan.yaml", "run: r\nlogs: [output.log]\n");
  fs_.AddFile("/rec/node-1/output.log", Log(60));
  fs_.AddFile("/rec/beside.log", Log(60));
  const Draft draft = Of("/rec");
  EXPECT_THAT(draft.recorded, ElementsAre("/rec/node-1"));
  EXPECT_THAT(draft.plans, IsEmpty());
  EXPECT_THAT(NotTaken(draft), ElementsAre("beside.log not_taken_beside_recorded"));
}

TEST_F(DraftTest, BesideAWrappedRunWhatNoRunRecordsOfItselfIsTaken) {
  fs_.AddFile("/rec/paritect-runs/r/node-1/plan.yaml", "run: r\nlogs: [output.log]\nobserved: [observe]\n");
  fs_.AddFile("/rec/paritect-runs/r/node-1/output.log", Log(60));
  fs_.AddFile("/rec/paritect-runs/r/node-1.pbundle", "PBUNDLE");
  fs_.AddFile("/rec/train.log", Log(60));
  fs_.AddFile("/rec/train.py", "import torch\n");
  fs_.AddFile("/rec/data/train/a.jsonl", "{\"text\": 1}\n");
  const Draft draft = Of("/rec");
  EXPECT_THAT(draft.recorded, ElementsAre("/rec/paritect-runs/r/node-1"));
  ASSERT_EQ(draft.plans.size(), 1u);
  EXPECT_EQ(draft.plans[0].datasets_size(), 1);
  EXPECT_EQ(draft.plans[0].scripts_size(), 1);
  EXPECT_EQ(draft.plans[0].logs_size(), 0);
  EXPECT_THAT(NotTaken(draft), Contains("train.log not_taken_beside_recorded"));
}

TEST_F(DraftTest, AWrappedRunThatCouldNotBeLookedIntoIsOneAllTheSame) {
  fs_.AddFile("/rec/paritect-runs/r/node-1/plan.yaml",
              "run: r\nlogs: [output.log]\nsettings: [command.sh, {file: environment.txt, kind: environment}]\n");
  fs_.AddFile("/rec/paritect-runs/r/node-1/output.log", Log(60));
  fs_.AddFile("/rec/paritect-runs/r/node-1/command.sh", "python train.py\n");
  fs_.AddFile("/rec/data/train/a.jsonl", "{\"text\": 1}\n");
  const Draft draft = Of("/rec");
  ASSERT_EQ(draft.plans.size(), 1u);
  EXPECT_EQ(draft.plans[0].datasets_size(), 1);
}

TEST_F(DraftTest, BesideAWrappedRunFilesOfSeveralNodesAreNamedAndLeftOut) {
  fs_.AddFile("/rec/paritect-runs/r/node-1/plan.yaml", "run: r\nlogs: [output.log]\nobserved: [observe]\n");
  fs_.AddFile("/rec/paritect-runs/r/node-1/output.log", Log(60));
  fs_.AddFile("/rec/node01/train.yaml", "learning_rate: 0.1\nbatch_size: 8\n");
  fs_.AddFile("/rec/node02/train.yaml", "learning_rate: 0.1\nbatch_size: 8\n");
  const Draft draft = Of("/rec");
  EXPECT_THAT(draft.recorded, ElementsAre("/rec/paritect-runs/r/node-1"));
  EXPECT_THAT(draft.plans, IsEmpty());
  EXPECT_THAT(NotTaken(draft), ElementsAre("node01/train.yaml not_taken_beside_recorded",
                                           "node02/train.yaml not_taken_beside_recorded"));
}

}  // namespace
}  // namespace paritect
