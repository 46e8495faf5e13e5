// Ports of the samples that differ in one place, in every framework: the differences are named at the check that is
// about them, and what is only written otherwise changes no verdict. The pairs and their answers:
// tests/scripts/pairs.txt.
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

struct ScriptPair {
  std::string sample;
  std::string name;
  std::string check;  // "same"
  std::string verdict;
  std::string kind;  // "" for any
  std::vector<std::pair<std::string, std::string>> edits;
};

std::string Unescaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\n", "\n"}});
}

// "hf_trainer OtherLength: data.preprocessing.padding = fail padding_differs"
ScriptPair PairOf(absl::string_view head) {
  const std::vector<std::string> sides = absl::StrSplit(head, absl::MaxSplits(": ", 1));
  const std::vector<std::string> names = absl::StrSplit(sides[0], ' ');
  const std::vector<std::string> answer = absl::StrSplit(sides[1], absl::MaxSplits(" = ", 1));
  ScriptPair pair;
  pair.sample = names[0];
  pair.name = names[1];
  pair.check = answer[0];
  if (answer.size() > 1) {
    const std::vector<std::string> words = absl::StrSplit(answer[1], ' ');
    pair.verdict = words[0];
    if (words.size() > 1) pair.kind = words[1];
  }
  return pair;
}

std::vector<ScriptPair> PairsOf(absl::string_view sample) {
  std::vector<ScriptPair> pairs;
  const std::string text = ReadSample("pairs.txt");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "=== ")) {
      pairs.push_back(PairOf(line));
    } else if (!pairs.empty() && absl::ConsumePrefix(&line, "- ")) {
      pairs.back().edits.emplace_back(Unescaped(line), "");
    } else if (!pairs.empty() && absl::ConsumePrefix(&line, "+ ")) {
      pairs.back().edits.back().second = Unescaped(line);
    }
  }
  std::erase_if(pairs, [&](const ScriptPair& one) { return one.sample != sample; });
  return pairs;
}

std::string FrameworkOf(absl::string_view sample) {
  if (absl::StartsWith(sample, "mindspore")) return "mindspore";
  return absl::StartsWith(sample, "keras") || absl::StartsWith(sample, "tf_") ? "tensorflow" : "pytorch";
}

v1::Report AuditOf(const std::string& framework, const std::string& baseline, const std::string& migrated) {
  return Audit(BundleOf("gpu", framework, "nvidia", baseline, ""),
               BundleOf("npu", framework, "atlas-a2", migrated, ""));
}

std::map<std::string, v1::Verdict> VerdictsOf(const v1::Report& report) {
  std::map<std::string, v1::Verdict> verdicts;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) verdicts[check.id()] = check.verdict();
  }
  return verdicts;
}

std::string WordOf(v1::Verdict verdict) {
  return verdict == v1::VERDICT_PASS ? "pass" : verdict == v1::VERDICT_FAIL ? "fail" : "not_performed";
}

class ScriptPairsOf : public testing::TestWithParam<const char*> {};

TEST_P(ScriptPairsOf, AreAnsweredAsDecided) {
  const std::string sample = GetParam();
  const std::string framework = FrameworkOf(sample);
  const std::string script = ReadSample(absl::StrCat("samples/", sample, ".py"));
  const auto twins = VerdictsOf(AuditOf(framework, script, script));
  const std::vector<ScriptPair> pairs = PairsOf(sample);
  EXPECT_FALSE(pairs.empty());
  for (const ScriptPair& pair : pairs) {
    std::string port = script;
    for (const auto& [from, to] : pair.edits) {
      ASSERT_TRUE(absl::StrContains(port, from)) << pair.name << ": the sample has no " << from;
      port = absl::StrReplaceAll(port, {{from, to}});
    }
    const v1::Report report = AuditOf(framework, script, port);
    const std::string alarms = absl::StrJoin(Alarms(report), "\n");
    if (pair.check == "same") {
      EXPECT_EQ(alarms, "") << sample << " " << pair.name;
      EXPECT_TRUE(VerdictsOf(report) == twins) << sample << " " << pair.name << ": a verdict changed";
      continue;
    }
    EXPECT_EQ(WordOf(VerdictOf(report, pair.check)), pair.verdict) << sample << " " << pair.name << "\n" << alarms;
    EXPECT_TRUE(pair.kind.empty() || absl::StrContains(alarms, absl::StrCat(pair.check, " ", pair.kind)))
        << sample << " " << pair.name << "\n"
        << alarms;
  }
}

constexpr char kTorchInput[] =
    "import torch\nfrom torchvision import datasets, transforms as T\n"
    "steps = T.Compose([T.RandomResizedCrop(224, scale=(0.08, 1.0)), T.RandomHorizontalFlip(), T.ToTensor(),\n"
    "                   T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])\n"
    "loader = torch.utils.data.DataLoader(datasets.ImageFolder('/d', steps), batch_size=32, shuffle=True)\n"
    "net = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for x, y in loader:\n  opt.zero_grad()\n  net(x).sum().backward()\n  opt.step()\n";
constexpr char kMindSporeInput[] =
    "import mindspore as ms\nimport mindspore.dataset as ds\nimport mindspore.dataset.vision as V\n"
    "data = ds.ImageFolderDataset('/d', shuffle=True)\n"
    "steps = [V.RandomCropDecodeResize(224, scale=(0.08, 1.0)), V.RandomHorizontalFlip(prob=0.5),\n"
    "         V.Normalize([0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]),\n"
    "         V.HWC2CHW()]\n"
    "data = data.map(steps, 'image').batch(32)\n"
    "net = ms.nn.Dense(2, 2)\nmodel = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))\n"
    "model.train(3, data)\n";

// Steps that mean the same in two frameworks: what differs is named, and what is alike passes nothing by itself.
TEST(ScriptPairs, StepsMeanTheSameAcrossFrameworks) {
  const auto audit = [](const std::string& port) {
    return Audit(BundleOf("gpu", "pytorch", "nvidia", kTorchInput, ""),
                 BundleOf("npu", "mindspore", "atlas-a2", port, ""));
  };
  const v1::Report twin = audit(kMindSporeInput);
  EXPECT_EQ(absl::StrJoin(Alarms(twin), "\n"), "");
  for (const char* check : {"data.preprocessing.shuffle", "data.preprocessing.padding", "data.preprocessing.transform"})
    EXPECT_EQ(WordOf(VerdictOf(twin, check)), "not_performed") << check;
  const std::pair<const char*, const char*> edits[] = {
      {"Resize(224", "Resize(192"}, {"(0.08, 1.0)", "(0.2, 1.0)"},
      {"prob=0.5", "prob=0.3"},     {" V.RandomHorizontalFlip(prob=0.5),", ""},
      {"0.485 * 255", "0.5 * 255"}, {"0.225 * 255", "1.0"}};
  for (const auto& [from, to] : edits) {
    const std::string port = absl::StrReplaceAll(kMindSporeInput, {{from, to}});
    EXPECT_EQ(WordOf(VerdictOf(audit(port), "data.preprocessing.transform")), "fail") << from << " -> " << to;
  }
  const std::string unshuffled = absl::StrReplaceAll(kMindSporeInput, {{"shuffle=True", "shuffle=False"}});
  EXPECT_EQ(WordOf(VerdictOf(audit(unshuffled), "data.preprocessing.shuffle")), "fail");
  const std::string dropped = absl::StrReplaceAll(kMindSporeInput, {{"batch(32)", "batch(32, drop_remainder=True)"}});
  EXPECT_EQ(WordOf(VerdictOf(audit(dropped), "data.preprocessing.padding")), "fail");
}

// A script that cannot be read, or says nothing, is no evidence: nothing passes on it.
TEST(ScriptPairs, UnreadableScriptsPassNothing) {
  const std::string binary(
      "\x7f"
      "ELF\0\1\2\xff\xfe",
      9);
  for (const std::string& script : {binary, std::string(), std::string("def f(:\n")}) {
    for (const char* framework : {"pytorch", "mindspore"}) {
      const v1::Report report =
          Audit(BundleOf("gpu", "pytorch", "nvidia", script, ""), BundleOf("npu", framework, "atlas-a2", script, ""));
      for (const char* check :
           {"model.hyperparameters.conventions", "network.definition.batchnorm-momentum", "network.definition.dropout",
            "network.definition.optimizer", "network.definition.defaults", "data.preprocessing.shuffle",
            "data.preprocessing.transform", "data.sharding.order-hazard", "migrated.mixed-precision.enabled"}) {
        EXPECT_EQ(WordOf(VerdictOf(report, check)), "not_performed") << check << " " << framework << " " << script;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScriptPairsOf,
                         testing::Values("hf_trainer", "lightning", "mindspore_model", "keras_fit", "tf_estimator",
                                         "deepspeed_engine", "megatron_style"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace paritect
