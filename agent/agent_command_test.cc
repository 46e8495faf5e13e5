#include "agent/agent_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "common/memory_file_system.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::map<std::string, std::string>& Files() {
  static auto* const files = new std::map<std::string, std::string>;
  return *files;
}

absl::Status Keep(absl::string_view path, absl::FunctionRef<absl::Status(WriteBytes)> produce) {
  if (path == "/full/x.pbundle") return absl::ResourceExhaustedError("write /full/x.pbundle: no space left");
  std::string& file = Files()[std::string(path)];
  return produce([&file](absl::string_view bytes) {
    absl::StrAppend(&file, bytes);
    return absl::OkStatus();
  });
}

struct AgentRun {
  int code = 0;
  std::string out, err;
};

AgentRun Agent(FileSystem& fs, std::vector<std::string> args) {
  std::ostringstream out, err;
  AgentEnv env = {.fs = fs,
                  .out = out,
                  .err = err,
                  .rules = BuiltInRules(),
                  .host_name = "npu-07",
                  .now_unix_ms = 1700000000123,
                  .write = &Keep};
  AgentRun run;
  run.code = RunAgentCommandLine(env, args);
  run.out = out.str();
  run.err = err.str();
  return run;
}

TEST(Agent, CollectsIntoABundle) {
  MemoryFileSystem fs;
  fs.AddFile("/job/plan.yaml", "run: npu\ndatasets: [{name: train, root: data}]\n");
  fs.AddFile("/job/data/a.bin", "abc");
  const AgentRun run = Agent(fs, {"collect", "/job", "-o", "/out/npu.pbundle"});
  EXPECT_EQ(run.code, kAgentOk) << run.err;
  auto bundle = ParseBundle(Files()["/out/npu.pbundle"]);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->plan().node(), "npu-07");
  EXPECT_EQ(bundle->collected_at_unix_ms(), 1700000000123);
  ASSERT_EQ(bundle->evidence_size(), 1);
  EXPECT_EQ(bundle->evidence(0).files().files_size(), 1);
}

TEST(Agent, NamesWhatItCouldNotCollect) {
  MemoryFileSystem fs;
  fs.AddFile("/job/plan.yaml", "run: npu\nscripts: [src]\n");
  fs.AddFile("/job/src/train.py", "");
  fs.AddFile("/job/x", "");
  const AgentRun run = Agent(fs, {"collect", "/job/plan.yaml", "--output=/out/x.pbundle"});
  EXPECT_EQ(run.code, kAgentOk);
  EXPECT_THAT(run.err, HasSubstr("pieces of evidence collected on npu-07"));
}

TEST(Agent, RefusesAWrongPlan) {
  MemoryFileSystem fs;
  fs.AddFile("/job/plan.yaml", "run: npu\ndatasests: []\n");
  fs.AddFile("/job/lost.yaml", "datasets: [{name: t, root: nowhere}]\n");
  AgentRun run = Agent(fs, {"collect", "/job", "-o", "/out/y.pbundle"});
  EXPECT_EQ(run.code, kAgentUsage);
  EXPECT_THAT(run.err, HasSubstr("plan.yaml:2:1: unknown key 'datasests'"));
  run = Agent(fs, {"collect", "/job/lost.yaml", "-o", "/out/y.pbundle"});
  EXPECT_EQ(run.code, kAgentUsage);
  EXPECT_THAT(run.err, HasSubstr("nowhere: not there"));
  EXPECT_EQ(Files().count("/out/y.pbundle"), 0u);
}

TEST(Agent, SaysWhenItCannotWrite) {
  MemoryFileSystem fs;
  fs.AddFile("/job/plan.yaml", "run: npu\n");
  const AgentRun run = Agent(fs, {"collect", "/job", "-o", "/full/x.pbundle"});
  EXPECT_NE(run.code, kAgentOk);
  EXPECT_THAT(run.err, HasSubstr("no space left"));
}

TEST(Agent, Usage) {
  MemoryFileSystem fs;
  EXPECT_EQ(Agent(fs, {}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"collect"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"collect", "a"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"collect", "a", "b", "-o", "c"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"collect", "a", "-o"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"collect", "a", "--jobs", "-o", "c"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"collect", "--help"}).code, kAgentOk);
  EXPECT_THAT(Agent(fs, {"join", "h:1"}).err, HasSubstr("--token"));
  EXPECT_EQ(Agent(fs, {"join", "h:1", "--token", "x", "--ca-pin", "y"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"simulate"}).code, kAgentUsage);
  EXPECT_EQ(Agent(fs, {"colect"}).code, kAgentUsage);
  EXPECT_THAT(Agent(fs, {"version"}).out, HasSubstr("paritect-agent "));
  EXPECT_EQ(Agent(fs, {"--version"}).code, kAgentOk);
}

}  // namespace
}  // namespace paritect
