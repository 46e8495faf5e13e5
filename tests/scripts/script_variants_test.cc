// One training script and its port, the port changed in one place at a time: each change is named, at the check that is
// about it, and the healthy twin raises nothing.
#include "absl/strings/match.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

constexpr char kLaunch[] = "#!/bin/bash\ntorchrun --nproc_per_node 8 train.py --data /data/images --epochs 90\n";

std::string Port(const std::string& script) {
  return absl::StrReplaceAll(script, {{"\"cuda\"", "\"npu\""},
                                      {"torch.cuda.amp", "torch_npu.npu.amp"},
                                      {"\"nccl\"", "\"hccl\""},
                                      {"import torch\n", "import torch\nimport torch_npu\n"}});
}

struct Variant {
  const char* name;
  const char* from;
  const char* to;
  const char* check;
  const char* kind;
};

constexpr Variant kVariants[] = {
    {"ShuffleOff", "shuffle=train, seed", "shuffle=False, seed", "data.preprocessing.shuffle", "shuffle_differs"},
    {"OtherBuffer", "shuffle(1000)", "shuffle(100)", "data.preprocessing.shuffle", "shuffle_differs"},
    {"OtherMean", "(0.485, 0.456, 0.406)", "(0.5, 0.5, 0.5)", "data.preprocessing.transform", "transform_differs"},
    {"DroppedFlip", "T.RandomCrop(224), T.RandomHorizontalFlip()", "T.RandomCrop(224)", "data.preprocessing.transform",
     "transform_differs"},
    {"DropLast", "drop_last=train,", "drop_last=False,", "data.preprocessing.padding", "padding_differs"},
    {"WorkersSeed", ",\n                        worker_init_fn=seed_worker)", ")", "data.preprocessing.shuffle",
     "shuffle_differs"},
    {"UnsortedListdir", "sorted(os.listdir(root))", "os.listdir(root)", "data.sharding.order-hazard",
     "unsorted_listing"},
    {"UnsortedGlob", "sorted(glob.glob(os.path.join(root, \"*.tar\")))", "glob.glob(os.path.join(root, \"*.tar\"))",
     "data.sharding.order-hazard", "unsorted_listing"},
    {"SetEpochForgotten", "        sampler.set_epoch(epoch)\n", "", "data.preprocessing.shuffle", "epoch_not_set"},
    {"EvalMissing", "    model.eval()\n", "", "training.flow.evaluation", "train_mode_at_eval"},
    {"ZeroGradMissing", "        optimizer.zero_grad(set_to_none=True)\n", "", "training.flow.state",
     "gradients_not_cleared"},
    {"ZeroGradBetween", "        scaler.step(optimizer)\n",
     "        optimizer.zero_grad()\n        scaler.step(optimizer)\n", "training.flow.state",
     "update_without_gradient"},
    {"HalfBesideAutocast", "model = Net().to(device)\n", "model = Net().to(device).half()\n",
     "migrated.mixed-precision.single-mechanism", "two_mechanisms"},
    {"ScalerOff", "GradScaler()", "GradScaler(enabled=False)", "migrated.loss-scale.enabled", "loss_scale_off"},
    {"ScalerUnused", "scaler.scale(loss).backward()\n        scaler.unscale_(optimizer)", "loss.backward()",
     "migrated.loss-scale.enabled", "loss_scale_off"},
    {"ScheduleTwice", "        scheduler.step()\n", "        scheduler.step()\n        scheduler.step()\n",
     "model.hyperparameters.learning-rate", "schedule_faster"},
    {"ScheduleInBothLoops", "        accuracy = ", "        scheduler.step()\n        accuracy = ",
     "model.hyperparameters.learning-rate", "schedule_faster"},
    {"NoWrapper", "    model = DDP(model, device_ids=[local])\n", "", "training.flow.distributed",
     "gradients_not_synchronised"},
    {"BatchNormMomentum", "momentum=0.1)", "momentum=0.9)", "model.hyperparameters.conventions", "layer_differs"},
    {"DropoutRate", "DROP = 0.1", "DROP = 0.2", "model.hyperparameters.conventions", "layer_differs"},
    {"DropoutKept", "training=self.training", "training=True", "training.flow.evaluation", "train_mode_at_eval"},
};

v1::Report AuditOf(const std::string& baseline, const std::string& migrated) {
  return Audit(BundleOf("gpu", "pytorch", "nvidia", baseline, kLaunch),
               BundleOf("npu", "pytorch", "atlas-a2", migrated, kLaunch));
}

class ScriptVariants : public testing::TestWithParam<Variant> {};

TEST_P(ScriptVariants, IsNamed) {
  const Variant& variant = GetParam();
  const std::string script = ReadSample("torch/train.py");
  const std::string port = Port(script);
  ASSERT_TRUE(absl::StrContains(port, variant.from)) << "the sample lost what this variant changes";
  const v1::Report report = AuditOf(script, absl::StrReplaceAll(port, {{variant.from, variant.to}}));
  EXPECT_EQ(VerdictOf(report, variant.check), v1::VERDICT_FAIL);
  bool named = false;
  for (const std::string& alarm : Alarms(report)) {
    named = named || absl::StartsWith(alarm, absl::StrCat(variant.check, " ", variant.kind));
  }
  EXPECT_TRUE(named) << testing::PrintToString(Alarms(report));
}

INSTANTIATE_TEST_SUITE_P(All, ScriptVariants, testing::ValuesIn(kVariants),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ScriptVariants, TheHealthyTwinRaisesNothingAndPasses) {
  const std::string script = ReadSample("torch/train.py");
  const v1::Report report = AuditOf(script, Port(script));
  EXPECT_TRUE(Alarms(report).empty()) << testing::PrintToString(Alarms(report));
  for (const char* check :
       {"data.preprocessing.read-count", "data.preprocessing.shuffle", "data.preprocessing.padding",
        "data.preprocessing.transform", "data.preprocessing.parallelism", "data.preprocessing.host-dependent",
        "data.sharding.order-hazard", "migrated.mixed-precision.single-mechanism",
        "migrated.mixed-precision.same-mechanism", "migrated.loss-scale.enabled"}) {
    EXPECT_EQ(VerdictOf(report, check), v1::VERDICT_PASS) << check;
  }
}

// A fault on both sides is a fault: agreement does not excuse it.
TEST(ScriptVariants, BothSidesAlikeIsNoExcuse) {
  const std::string script =
      absl::StrReplaceAll(ReadSample("torch/train.py"), {{"sorted(os.listdir(root))", "os.listdir(root)"}});
  EXPECT_EQ(VerdictOf(AuditOf(script, Port(script)), "data.sharding.order-hazard"), v1::VERDICT_FAIL);
}

// A record of the run that lacks something, and shows no difference: the code of both sides says the rest.
TEST(ScriptVariants, CodeAnswersWhatARecordWithGapsLeavesOpen) {
  const auto observed = [](v1::Bundle bundle, const std::string& shuffle) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source("observe/a.jsonl");
    evidence.mutable_settings()->set_format("observed");
    evidence.mutable_settings()->set_kind("observed");
    const std::string facts[][3] = {{"observed.process", "n-1", ""},
                                    {"world_size", "1", ""},
                                    {"observed.loader", "train.py:9", "training"},
                                    {"observed.pipeline.shuffle.shuffle", shuffle, "training"},
                                    {"observed.gap", "only every 100th step is told", "throttled"}};
    for (const auto& [key, value, scope] : facts) {
      v1::Setting& setting = *evidence.mutable_settings()->add_settings();
      setting.set_raw_key(key);
      setting.set_raw_value(value);
      setting.mutable_value()->set_text(value);
      setting.set_scope(scope);
      setting.set_origin("observe/a.jsonl:1");
    }
    return bundle;
  };
  const std::string script = ReadSample("torch/train.py");
  const auto told = [&](const std::string& migrated, const std::string& shuffle) {
    return VerdictOf(Audit(observed(BundleOf("gpu", "pytorch", "nvidia", script, kLaunch), "true"),
                           observed(BundleOf("npu", "pytorch", "atlas-a2", migrated, kLaunch), shuffle)),
                     "data.preprocessing.shuffle");
  };
  EXPECT_EQ(told(Port(script), "true"), v1::VERDICT_PASS);
  EXPECT_EQ(told(Port(script), "false"), v1::VERDICT_FAIL);
  const std::string other = absl::StrReplaceAll(Port(script), {{"shuffle(1000)", "shuffle(100)"}});
  EXPECT_EQ(told(other, "true"), v1::VERDICT_NOT_PERFORMED);
}

// The order of a listing stays with the records that are read from its files, whatever part of them is kept.
TEST(ScriptVariants, RecordsOfListedFilesKeepTheOrderOfTheListing) {
  const auto hazard = [](const std::string& listing, const std::string& kept) {
    return VerdictOf(
        AuditOf("", absl::StrCat("import glob\nimport json\nimport torch\nfrom torch import nn\n"
                                 "from torch.utils.data import DataLoader, Dataset\n"
                                 "class Reviews(Dataset):\n"
                                 "    def __init__(self):\n"
                                 "        self.rows = []\n"
                                 "        for name in ", listing, ":\n"
                                 "            with open(name) as f:\n"
                                 "                for line in f:\n"
                                 "                    row = json.loads(line)\n"
                                 "                    self.rows.append(", kept, ")\n"
                                 "    def __len__(self):\n"
                                 "        return len(self.rows)\n"
                                 "    def __getitem__(self, i):\n"
                                 "        return self.rows[i]\n"
                                 "loader = DataLoader(Reviews(), batch_size=4, shuffle=True)\n"
                                 "model = nn.Linear(2, 2)\n"
                                 "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                                 "for x, y in loader:\n"
                                 "    loss = nn.functional.cross_entropy(model(x), y)\n"
                                 "    optimizer.zero_grad()\n"
                                 "    loss.backward()\n"
                                 "    optimizer.step()\n")),
        "data.sharding.order-hazard");
  };
  for (const char* kept : {"row", "row['text']", "(row['text'], row['label'])", "row.text", "{'x': row['text']}"}) {
    EXPECT_EQ(hazard("glob.glob('data/*.jsonl')", kept), v1::VERDICT_FAIL) << kept;
    EXPECT_NE(hazard("sorted(glob.glob('data/*.jsonl'))", kept), v1::VERDICT_FAIL) << kept;
  }
}

// Casts of what is not trained, of inputs, up to fp32 and of norms make no second mechanism.
TEST(ScriptVariants, OtherCastsAreNoSecondMechanism) {
  const std::string script = ReadSample("torch/train.py");
  for (const char* cast :
       {"    teacher = Net().half()\n", "    teacher = Net().to(torch.float16)\n    teacher.requires_grad_(False)\n",
        "    model.float()\n", "    pixels = torch.zeros(3).half()\n"}) {
    const std::string port =
        absl::StrReplaceAll(Port(script), {{"    model = DDP(", absl::StrCat(cast, "    model = DDP(")}});
    EXPECT_EQ(VerdictOf(AuditOf(script, port), "migrated.mixed-precision.single-mechanism"), v1::VERDICT_PASS) << cast;
  }
}

// What an option decides is known where the launch is, and is no difference where it is not.
TEST(ScriptVariants, DefaultsCountAsFarAsTheCommandLineIsKnown) {
  const std::string script = absl::StrReplaceAll(
      ReadSample("torch/train.py"),
      {{"num_workers=8", "num_workers=8, shuffle=False"},
       {"shuffle(1000)", "shuffle(args.buffer)"},
       {"def extra_samples(root, rank, world)", "def extra_samples(args, root, rank, world)"},
       {"extra_samples(args.data, rank, world)", "extra_samples(args, args.data, rank, world)"},
       {"    args = parser.parse_args()\n",
        "    parser.add_argument(\"--buffer\", type=int, default=1000)\n    args = parser.parse_args()\n"}});
  const std::string port = absl::StrReplaceAll(Port(script), {{"default=1000", "default=500"}});
  const auto audit = [&](const std::string& a, const std::string& b) {
    return VerdictOf(
        Audit(BundleOf("gpu", "pytorch", "nvidia", script, a), BundleOf("npu", "pytorch", "atlas-a2", port, b)),
        "data.preprocessing.shuffle");
  };
  EXPECT_EQ(audit("", ""), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(audit(kLaunch, kLaunch), v1::VERDICT_FAIL);
  EXPECT_EQ(audit(kLaunch,
                  "#!/bin/bash\ntorchrun --nproc_per_node 8 train.py --data /data/images --epochs 90 --buffer 1000\n"),
            v1::VERDICT_PASS);
}

}  // namespace
}  // namespace paritect
