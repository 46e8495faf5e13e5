#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/command.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

class InspectShardsTest : public ::testing::Test {
 protected:
  std::string Inspect(std::vector<std::string> args) {
    out_.str("");
    CommandEnv env = {.fs = fs_, .out = out_, .err = out_, .rules = BuiltInRules(), .getenv = [](absl::string_view) { return std::string(); }};
    args.insert(args.begin(), "inspect");
    code_ = RunCommandLine(env, args);
    return out_.str();
  }
  MemoryFileSystem fs_;
  std::ostringstream out_;
  int code_ = 0;
};

TEST_F(InspectShardsTest, AFolderOfLists) {
  fs_.AddFile("/s/rank_0001.txt", "/d/b\n/d/d\n");
  fs_.AddFile("/s/rank_0000.txt", "/d/a\n/d/c\n");
  const std::string text = Inspect({"--as", "shards", "/s"});
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(text, HasSubstr("\"0\": [\n   \"/d/a\",\n   \"/d/c\"\n  ]"));
  EXPECT_THAT(text, HasSubstr("\"rule\": \"stride (files[rank::2]), byte order\""));
  EXPECT_THAT(Inspect({"--as", "shards", "--summary", "/s"}), HasSubstr("\"count\": 2"));
}

TEST_F(InspectShardsTest, AnIndexLog) {
  fs_.AddFile("/i.log", "step=0 rank=0 world=2 idx=[0, 1]\nstep=0 rank=1 world=2 idx=[2, 3]\n");
  EXPECT_THAT(Inspect({"--as", "shards", "/i.log"}), HasSubstr("\"format\": \"index-log\""));
}

TEST_F(InspectShardsTest, WhatIsNoListIsSaid) {
  fs_.AddFile("/x.bin", absl::string_view("\x01\x02\0\0", 4));
  const std::string text = Inspect({"--as", "shards", "/x.bin"});
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(text, HasSubstr("\"format\": \"unknown\""));
  EXPECT_THAT(text, HasSubstr("binary"));
}

TEST_F(InspectShardsTest, AScriptThatSetsOptionsIsAScript) {
  fs_.AddFile("/train.py", "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n");
  EXPECT_THAT(Inspect({"/train.py"}), HasSubstr("\"kind\": \"script\""));
  EXPECT_THAT(Inspect({"--as", "settings", "/train.py"}), HasSubstr("\"format\": \"flags\""));
}

}  // namespace
}  // namespace paritect
