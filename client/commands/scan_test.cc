// `paritect scan`: what it finds, and what its exit code says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/command.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

class ScanTest : public testing::Test {
 protected:
  ExitCode Scan(const std::string& script, std::vector<std::string> args = {}, const std::string& path = "/src",
                const std::string& beside = "") {
    MemoryFileSystem fs;
    fs.AddFile("/src/train.py", script);
    if (!beside.empty()) fs.AddFile("/src/other.py", beside);
    out_.str("");
    CommandEnv env = {.fs = fs,
                      .out = out_,
                      .err = out_,
                      .rules = BuiltInRules(),
                      .terminal_columns = 100,
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = [](absl::string_view) { return std::string(); },
                      .working_directory = "/"};
    args.insert(args.begin(), {"scan", path});
    return RunCommandLine(env, args);
  }

  std::ostringstream out_;
};

TEST_F(ScanTest, SaysWhetherSomethingIsAnError) {
  EXPECT_EQ(Scan("print('nothing to see')\n"), kExitOk);
  const std::string dealt = "names = os.listdir('/d')\nmine = names[dist.get_rank()::8]\n";
  EXPECT_EQ(Scan("import os, torch.distributed as dist\n" + dealt), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("train.py:2"));
  EXPECT_THAT(out_.str(), HasSubstr("unsorted_listing"));
  EXPECT_EQ(Scan("import os, torch.distributed as dist\n# paritect: allow unsorted_listing: counted only\n" + dealt),
            kExitOk);
}

// Nothing found where nothing could be read is no good news.
TEST_F(ScanTest, OfOneScriptNotThatOfAnother) {
  const std::string dealt =
      "import os, torch.distributed as dist\nnames = os.listdir('/d')\nmine = names[dist.get_rank()::8]\n";
  EXPECT_EQ(Scan(dealt, {}, "/src/train.py", "print('well')\n"), kExitFailed) << out_.str();
  EXPECT_EQ(Scan(dealt, {}, "/src/other.py", "print('well')\n"), kExitOk) << out_.str();
}

TEST_F(ScanTest, CannotTellWhatItCannotRead) {
  EXPECT_EQ(Scan("def f(:\n"), kExitUsage);
  EXPECT_THAT(out_.str(), HasSubstr("cannot be parsed"));
  EXPECT_EQ(Scan(std::string("\x7f"
                             "ELF\0\1\2\xff",
                             8)),
            kExitUsage);
  // What was found stands.
  EXPECT_EQ(Scan("import os, torch.distributed as dist\nm = os.listdir('/d')[dist.get_rank()::8]\ndef f(:\n"),
            kExitFailed);
}

// What a configuration file decides by itself, with its place; without any script too.
TEST_F(ScanTest, JudgesSettings) {
  MemoryFileSystem fs;
  fs.AddFile("/src/job.sh", "export ASCEND_LAUNCH_BLOCKING=0\npython train.py --fp16 --loss-scale 0.5\n");
  fs.AddFile("/src/broken.yaml", "a: [\n");
  out_.str("");
  CommandEnv env = {.fs = fs,
                    .out = out_,
                    .err = out_,
                    .rules = BuiltInRules(),
                    .terminal_columns = 100,
                    .host_name = "here",
                    .today = "2026-06-15",
                    .getenv = [](absl::string_view) { return std::string(); },
                    .working_directory = "/"};
  EXPECT_EQ(RunCommandLine(env, {"scan", "/src"}), kExitFailed) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("job.sh:2"));
  EXPECT_THAT(out_.str(), HasSubstr("loss_scale_below_one"));
}

TEST_F(ScanTest, SpeaksSarif) {
  EXPECT_EQ(Scan("import os, torch.distributed as dist\nm = os.listdir('/d')[dist.get_rank()::8]\n", {"-o", "sarif"}),
            kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("\"ruleId\": \"unsorted_listing\""));
  EXPECT_THAT(out_.str(), Not(HasSubstr("suppressions")));
}

}  // namespace
}  // namespace paritect
