#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/command.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// What a user sees: exit code, output, errors.
class CheckCommandTest : public testing::Test {
 protected:
  CheckCommandTest() {
    fs_.AddFile("/gpu/plan.yaml", "run: gpu\nnode: gpu-01\ndatasets: [{name: train, root: data}]\n");
    fs_.AddFile("/gpu/data/a.bin", "abc");
    fs_.AddFile("/npu/plan.yaml", "run: npu\nnode: npu-01\ndatasets: [{name: train, root: data}]\n");
    fs_.AddFile("/npu/data/a.bin", "abd");
    fs_.AddFile("/same/plan.yaml", "run: npu\nnode: npu-01\ndatasets: [{name: train, root: data}]\n");
    fs_.AddFile("/same/data/a.bin", "abc");
  }

  ExitCode Run(std::vector<std::string> args) {
    out_.str("");
    err_.str("");
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = [](absl::string_view) { return std::string(); }};
    return RunCommandLine(env, args);
  }
  ExitCode Check(std::vector<std::string> more, const std::string& migrated = "/npu") {
    std::vector<std::string> args = {"check", "--baseline", "/gpu", "--migrated", migrated, "--item", "data.dataset"};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }

  MemoryFileSystem fs_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CheckCommandTest, ExitCodeIsTheSameWhateverTheFormat) {
  for (const char* format : {"table", "json", "jsonl", "csv", "markdown", "junit"}) {
    EXPECT_EQ(Check({"-o", format}), kExitFailed) << format;
    EXPECT_THAT(err_.str(), IsEmpty()) << format;
    EXPECT_EQ(Check({"-o", format}, "/same"), kExitOk) << format;
    EXPECT_EQ(Run({"check", "--baseline", "/gpu", "--complete", "-o", format, "--item", "model.hyperparameters"}),
              kExitNotPerformed)
        << format;
  }
}

// A file that becomes another one once it is read shows who read it.
TEST_F(CheckCommandTest, OnlyWhatTheAskedItemsLookAtIsRead) {
  const std::string log = "step 1 loss 2.5\nstep 2 loss 2.4\n";
  const auto is_read = [&](const std::string& path, const std::string& first) {
    return *ReadWholeFile(fs_, path, 1 << 10) != first;
  };
  const auto write = [&] {
    fs_.AddFile("/gpu/plan.yaml", "run: gpu\nnode: n\nlogs: [a.log]\ndatasets: [{name: train, root: data}]\n");
    fs_.AddFile("/gpu/a.log", log);
    fs_.ChangeWhileRead("/gpu/a.log", "x");
    fs_.AddFile("/gpu/data/a.bin", "abc");
    fs_.ChangeWhileRead("/gpu/data/a.bin", "x");
  };
  write();
  Run({"check", "--baseline", "/gpu", "--item", "data.dataset"});
  EXPECT_FALSE(is_read("/gpu/a.log", log));
  write();
  Run({"check", "--baseline", "/gpu", "--item", "convergence"});
  EXPECT_FALSE(is_read("/gpu/data/a.bin", "abc"));
  write();
  Run({"why", "baseline.repeatability.runs", "--baseline", "/gpu"});
  EXPECT_FALSE(is_read("/gpu/data/a.bin", "abc"));
  write();
  Run({"check", "--baseline", "/gpu"});
  EXPECT_TRUE(is_read("/gpu/a.log", log));
  EXPECT_TRUE(is_read("/gpu/data/a.bin", "abc"));
}

TEST_F(CheckCommandTest, MistakesAreToldWithTheirPlaceAndTheNearestWord) {
  EXPECT_EQ(Run({"check"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("paritect check GPU NPU"));
  EXPECT_EQ(Check({"--item", "data.shardng"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'data.sharding'?"));
  EXPECT_EQ(Check({"--item", "data.dataset.files"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("its item is data.dataset"));
  EXPECT_EQ(Check({"-o", "xls"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("not supported by this version"));
  EXPECT_EQ(Check({"-o", "json", "-o", "csv"}), kExitUsage);
  EXPECT_EQ(Check({"-o", "json=/no/such/folder/x"}), kExitUsage);
  EXPECT_EQ(Check({"--complet"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean '--complete'?"));
  EXPECT_EQ(Run({"check", "--baseline", "/lost"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("/lost: not there; give a run's folder"));
  EXPECT_EQ(Run({"check", "--baseline", "/gpu/data"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("nothing in this folder is recognised"));
  fs_.AddFile("/bad.yaml", "run: x\nrn: y\n");
  EXPECT_EQ(Run({"check", "--baseline", "/bad.yaml"}), kExitUsage);
  EXPECT_THAT(err_.str(), StartsWith("/bad.yaml:2:1: unknown key"));  // an editor finds the place
  fs_.AddFile("/profile.yaml", "profile: x/1\nthresholds: {overflow: 1}\n");
  EXPECT_EQ(Check({"--profile", "/profile.yaml"}), kExitUsage);
  EXPECT_THAT(err_.str(), StartsWith("/profile.yaml:2:14: unknown key"));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(CheckCommandTest, WaiversAndAnswersAreAppliedAndStaleOnesWarn) {
  fs_.AddFile("/profile.yaml",
              "profile: site/1\nextends: pre-tuning/1\nwaivers:\n"
              "  - {check: data.dataset.content, kind: content_differs, subject: a.bin, reason: r, by: Chen, until: "
              "2099-01-01}\n"
              "  - {check: data.dataset.content, subject: gone.bin, reason: r, by: Chen, until: 2099-01-01}\n");
  EXPECT_EQ(Check({"--profile", "/profile.yaml", "-o", "json"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"profile\": \"site/1\""));
  EXPECT_THAT(out_.str(), HasSubstr("\"by\": \"Chen\""));
  EXPECT_THAT(err_.str(), HasSubstr("matches no finding"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("names neither")));
}

TEST_F(CheckCommandTest, SpeaksTheLanguageAskedFor) {
  Check({"--lang", "zh"});
  EXPECT_THAT(out_.str(), HasSubstr("不通过"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("not performed")));
  Check({"--lang", "en,zh"});
  EXPECT_THAT(out_.str(), HasSubstr("File contents (MD5) / 文件内容（MD5）"));
  EXPECT_EQ(Check({"--lang", "fr"}), kExitUsage);
}

TEST_F(CheckCommandTest, ColourNeverReachesAPipe) {
  EXPECT_EQ(Check({"--color", "always"}), kExitFailed);
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(Check({"--color", "red"}), kExitUsage);
}

TEST_F(CheckCommandTest, WhyShowsValuesSourcesAndLimits) {
  EXPECT_EQ(Run({"why", "data.dataset.content@npu-01", "--baseline", "/gpu", "--migrated", "/npu"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("content_differs"));
  EXPECT_THAT(out_.str(), HasSubstr("npu-01"));
  EXPECT_THAT(out_.str(), HasSubstr("migrated | npu | npu-01"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("baseline | gpu")));
  EXPECT_EQ(Run({"why", "data.dataset.content@npu-1", "--baseline", "/gpu", "--migrated", "/npu"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("there are gpu-01, npu-01"));
  EXPECT_EQ(Run({"why", "data.dataset.contnt", "--baseline", "/gpu"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'data.dataset.content'?"));
}

TEST_F(CheckCommandTest, ExplainKnowsEveryIdOfTheCatalogue) {
  EXPECT_EQ(Run({"explain"}), kExitOk);
  const std::string all = out_.str();
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    EXPECT_THAT(all, HasSubstr(item.id));
    EXPECT_EQ(Run({"explain", item.id}), kExitOk) << item.id;
    for (const CatalogueCheck& check : item.checks) {
      EXPECT_THAT(all, HasSubstr(check.id));
      EXPECT_EQ(Run({"explain", check.id, "--lang", "en,zh"}), kExitOk) << check.id;
      EXPECT_THAT(out_.str(), Not(HasSubstr("evidence_"))) << check.id;  // every word of evidence has its message
      for (const std::string& limit : check.limits) {
        EXPECT_TRUE(BuiltInRules().profile.thresholds.contains(limit)) << check.id << " " << limit;
      }
    }
  }
  EXPECT_EQ(Run({"explain", "content_differs"}), kExitOk);
  EXPECT_EQ(Run({"explain", "no.such"}), kExitUsage);
}

TEST_F(CheckCommandTest, CompletionNamesEveryCommandAndItsOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(Run({"completion", shell}), kExitOk);
    for (const Command* command : AllCommands()) EXPECT_THAT(out_.str(), HasSubstr(std::string(command->name)));
    EXPECT_THAT(out_.str(), HasSubstr("migrated"));
    EXPECT_THAT(out_.str(), HasSubstr("data.sharding.ranks"));
  }
  EXPECT_EQ(Run({"completion", "bash"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("help) choices=\"attach "));  // `help TAB` gives commands, not files
  EXPECT_EQ(Run({"completion", "tcsh"}), kExitUsage);
}

}  // namespace
}  // namespace paritect
