#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/command.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

class DiffCommandTest : public testing::Test {
 protected:
  DiffCommandTest() {
    fs_.AddFile("/gpu/plan.yaml",
                "run: gpu\nnode: g1\nplatform: nvidia\nframework: pytorch\nsettings: [args.yaml, {file: env.txt, kind: "
                "environment}]\n");
    fs_.AddFile("/gpu/args.yaml", "lr: 1e-4\nweight_decay: 0.1\nshuffle: true\nour_flag: 3\n");
    fs_.AddFile("/gpu/env.txt", "HOSTNAME=g1\nHCCL_ALGO=ring\nTASK_QUEUE_ENABLE=1\n");
    fs_.AddFile("/npu/plan.yaml",
                "run: npu\nnode: n1\nplatform: atlas-a2\nframework: pytorch\nsettings: [args.yaml, {file: env.txt, "
                "kind: environment}]\n");
    fs_.AddFile("/npu/args.yaml", "lr: 0.0001\nweight_decay: 0.01\nshuffle: false\nour_flag: 4\n");
    fs_.AddFile("/npu/env.txt", "HOSTNAME=n1\nHCCL_ALGO=ring\n");
    fs_.AddFile("/bare/args.yaml", "lr: 1e-4\nweight_decay: 0.1\nshuffle: true\nour_flag: 3\n");
    fs_.AddFile("/profile.yaml", "profile: site/1\nignore_keys: [weight_decay, shuffle, our_*]\n");
  }

  ExitCode Diff(std::vector<std::string> args) {
    out_.str("");
    err_.str("");
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = [](absl::string_view) { return std::string(); }};
    args.insert(args.begin(), "diff");
    return RunCommandLine(env, args);
  }

  MemoryFileSystem fs_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DiffCommandTest, DifferencesOnlyGroupedAndCounted) {
  EXPECT_EQ(Diff({"settings", "/gpu", "/npu"}), kExitFailed) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("weight_decay"));
  EXPECT_THAT(out_.str(), HasSubstr("0.01  (args.yaml:2)"));
  EXPECT_THAT(out_.str(), HasSubstr("data.preprocessing"));
  EXPECT_THAT(out_.str(), HasSubstr("our_flag"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("lr_base")));     // 1e-4 is 0.0001
  EXPECT_THAT(out_.str(), Not(HasSubstr("TASK_QUEUE")));  // an explicit default
  EXPECT_THAT(out_.str(), HasSubstr("3 different, 3 equal and not shown"));
  EXPECT_THAT(out_.str(), HasSubstr("HOSTNAME"));  // named, not counted
  EXPECT_EQ(Diff({"settings", "/gpu", "/npu", "--all"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("lr_base"));
}

TEST_F(DiffCommandTest, EqualEndsWithZero) {
  EXPECT_EQ(Diff({"settings", "/gpu", "/gpu"}), kExitOk) << out_.str();
  EXPECT_EQ(Diff({"settings", "/bare", "/bare/args.yaml"}), kExitOk) << out_.str() << err_.str();
  EXPECT_EQ(Diff({"settings", "/gpu", "/npu", "--profile", "/profile.yaml"}), kExitOk) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("left out by the profile"));
}

TEST_F(DiffCommandTest, JsonHasBothSidesWithTheirOrigins) {
  EXPECT_EQ(Diff({"settings", "/gpu", "/npu", "-o", "json"}), kExitFailed);
  const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
  ASSERT_TRUE(json.is_object()) << out_.str();
  EXPECT_EQ(json["schema"], "paritect.diff/1");
  EXPECT_EQ(json["counts"]["different"], 3);
  EXPECT_EQ(json["areas"][0]["area"], "data.preprocessing");
  const auto& row = json["areas"][0]["settings"][0];
  EXPECT_EQ(row["key"], "shuffle");
  EXPECT_EQ(row["relation"], "differs");
  EXPECT_EQ(row["a"]["value"], "true");
  EXPECT_EQ(row["b"]["origin"], "args.yaml:3");
}

TEST_F(DiffCommandTest, WhatIsNotReadIsNotEqual) {
  fs_.AddFile("/torn/plan.yaml", "run: gpu\nnode: g1\nsettings: [args.yaml, other.yaml]\n");
  fs_.AddFile("/torn/args.yaml", "lr: 1e-4\nweight_decay: 0.1\nshuffle: true\nour_flag: 3\n");
  fs_.AddFile("/torn/other.yaml", "");
  EXPECT_EQ(Diff({"settings", "/bare", "/torn"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("not read"));
}

TEST_F(DiffCommandTest, ScriptsAreEqualOnlyWhereAllOfTheirCodeIs) {
  constexpr char kTrain[] =
      "import torch\nimport torchvision.transforms as T\nfrom helper import loss_of\n"
      "flip, crop = T.RandomHorizontalFlip(), T.RandomCrop(4)\nsteps = T.Compose([flip, crop])\n"
      "net = torch.nn.Linear(4, 2).cuda()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
      "for x in torch.utils.data.DataLoader([1], batch_size=2):\n"
      "  opt.zero_grad()\n  loss_of(net, x.cuda()).backward()\n  opt.step()\n";
  constexpr char kHelper[] = "def loss_of(net, x):\n  return net(x).mean()\n";
  const auto diff = [&](const std::string& train, const std::string& name, const std::string& helper) {
    fs_.AddFile("/one/train.py", kTrain);
    fs_.AddFile("/one/helper.py", kHelper);
    fs_.AddFile(absl::StrCat("/", name, "/train.py"), train);
    fs_.AddFile(absl::StrCat("/", name, "/", helper == kHelper ? "losses.py" : "helper.py"), helper);
    return Diff({"scripts", "/one", absl::StrCat("/", name)});
  };
  const std::string port = absl::StrReplaceAll(kTrain, {{"cuda", "npu"}, {"from helper", "from losses"}});
  EXPECT_EQ(diff(port, "port", kHelper), kExitOk) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the same code under another name: helper.py, losses.py"));
  EXPECT_EQ(diff(kTrain, "sum", "def loss_of(net, x):\n  return net(x).sum()\n"), kExitFailed) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("return net(x).sum()"));
  const std::string turned = absl::StrReplaceAll(port, {{"[flip, crop]", "[crop, flip]"}});
  EXPECT_EQ(diff(turned, "turned", kHelper), kExitFailed) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("Compose(RandomCrop, RandomHorizontalFlip)"));
}

TEST_F(DiffCommandTest, MistakesEndWithTwo) {
  EXPECT_EQ(Diff({"settings", "/gpu"}), kExitUsage);
  EXPECT_EQ(Diff({"settings", "/gpu", "/nowhere"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("/nowhere: not there"));
  EXPECT_EQ(Diff({"setting", "/gpu", "/npu"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'settings'"));
  EXPECT_EQ(Diff({"scripts", "/gpu", "/npu"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("no scripts were named or read"));
  EXPECT_EQ(Diff({"settings", "/gpu", "/npu", "-o", "xlsx"}), kExitUsage);
  fs_.AddFile("/empty/readme.bin", std::string("\0\1\2", 3));
  EXPECT_EQ(Diff({"settings", "/gpu", "/empty"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("no settings found"));
}

TEST_F(DiffCommandTest, DataAsATreeOfFolders) {
  fs_.AddFile("/a/x/1", "one");
  fs_.AddFile("/a/x/2", "two");
  fs_.AddFile("/a/y/3", "three");
  fs_.AddFile("/b/x/1", "one");
  fs_.AddFile("/b/x/2", "tw0");
  fs_.AddFile("/b/z/3", "three");
  EXPECT_EQ(Diff({"data", "/a", "/b"}), kExitFailed) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("x/ 1 content differs, 1 ="));
  EXPECT_THAT(out_.str(), HasSubstr("moved y/3 -> z/3"));
  EXPECT_THAT(out_.str(), HasSubstr("1 equal, 2 different: 1 content differs, 1 moved"));
  EXPECT_EQ(Diff({"data", "/a", "/b", "-o", "json"}), kExitFailed);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["kind"], "data");
  EXPECT_EQ(json["datasets"][0]["counts"]["equal"], 1);
  EXPECT_EQ(json["datasets"][0]["differences"][0]["path"], "x/2");
  EXPECT_EQ(json["datasets"][0]["differences"][1]["other"], "z/3");
  EXPECT_EQ(Diff({"data", "/a", "/a"}), kExitOk) << out_.str();
}

TEST_F(DiffCommandTest, DataOfAPlanAgainstAListAndAFolder) {
  fs_.AddFile("/a/1", "a");
  fs_.AddFile("/p/plan.yaml", "run: r\nnode: n\ndatasets: [{name: train, root: data}]\n");
  fs_.AddFile("/p/data/1", "a");
  fs_.AddFile("/list.md5", "0cc175b9c0f1b6a831c399e269772661  1\n");
  EXPECT_EQ(Diff({"data", "/p", "/a"}), kExitOk) << out_.str() << err_.str();
  EXPECT_EQ(Diff({"data", "/list.md5", "/p"}), kExitOk) << out_.str() << err_.str();
  fs_.AddFile("/list.md5", "0cc175b9c0f1b6a831c399e269772661  1\n0cc175b9c0f1b6a831c399e269772661  2\n");
  EXPECT_EQ(Diff({"data", "/list.md5", "/p"}), kExitFailed);
  EXPECT_EQ(Diff({"data", "/gone", "/p"}), kExitUsage);
  fs_.AddFile("/other.yaml", "run: r\nnode: n\ndatasets: [{name: val, root: a}]\n");
  EXPECT_EQ(Diff({"data", "/other.yaml", "/p"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("only A has this data set"));
}

}  // namespace
}  // namespace paritect
